#include "ui/panels/hooks/HooksModel.h"

#include <QColor>
#include <QDateTime>
#include <QFileInfo>
#include <algorithm>
#include <array>

#include "plugins/abi/include/lockstep/comm_hook.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/hooks/DisabledHooks.h"

namespace lockstep::ui {
namespace {

using State = HookRow::State;

/// What a verdict is valid for.
QString stampOf(const QString& path) {
  const QFileInfo file(path);
  return QString::number(file.size()) + QLatin1Char(' ') +
         QString::number(file.lastModified().toMSecsSinceEpoch());
}

/// The first thing that a verification found wrong.
QString faultOf(const HookVerdict& verdict) {
  if (!verdict.error.isEmpty()) {
    return verdict.error;
  }
  for (const plugin::Verification& run : verdict.runs) {
    if (!run.problems.empty()) {
      return QString::fromStdString(run.problems.front());
    }
  }
  for (const plugin::Verification& run : verdict.runs) {
    if (!run.refusal.empty()) {
      return QString::fromStdString(run.refusal);
    }
  }
  return {};
}

}  // namespace

QString nameOf(State state) {
  switch (state) {
    case State::kReady:
      return HooksModel::tr("ready");
    case State::kHidden:
      return HooksModel::tr("hidden");
    case State::kDisabled:
      return HooksModel::tr("disabled");
    case State::kVerifying:
      return HooksModel::tr("verifying…");
    case State::kVerified:
      return HooksModel::tr("✓ verified");
    case State::kFailed:
      return HooksModel::tr("✗ failed");
    case State::kRefused:
      return HooksModel::tr("✗ refused");
  }
  return {};
}

void HooksModel::setLibraries(std::vector<plugin::FoundLibrary> libraries) {
  libraries_ = std::move(libraries);
  rebuild();
}

void HooksModel::disabledChanged() {
  rebuild();
}

void HooksModel::setVerifying(const QString& library) {
  verifying_ = library;
  rebuild();
}

void HooksModel::setVerdicts(const QString& library, const std::map<QString, HookVerdict>& verdicts,
                             const QString& error) {
  verifying_.clear();
  stamps_[library] = stampOf(library);
  for (const HookRow& row : rows_) {
    if (row.path == library && !row.refused()) {
      const auto found = verdicts.find(row.id);
      verdicts_[{library, row.id}] =
          found != verdicts.end() ? found->second : HookVerdict{false, {}, error};
    }
  }
  rebuild();
}

void HooksModel::judge(HookRow& row, bool hidden, const QString& hider) const {
  const auto verdict = verdicts_.find({row.path, row.id});
  const auto stamp = stamps_.find(row.path);
  if (verdict != verdicts_.end() && stamp != stamps_.end() && stamp->second == stampOf(row.path)) {
    row.verdict = verdict->second;
  }
  if (row.path == verifying_) {
    row.state = State::kVerifying;
  } else if (hidden) {
    row.state = State::kHidden;
    row.error = tr("%1 has a hook of this name and is looked at first").arg(hider);
  } else if (isHookDisabled(row.id, row.path)) {
    row.state = State::kDisabled;
  } else if (row.verdict) {
    row.state = row.verdict->passes ? State::kVerified : State::kFailed;
  }
  if (row.verdict && !row.verdict->passes && row.error.isEmpty()) {
    row.error = faultOf(*row.verdict);
  }
}

void HooksModel::rebuild() {
  std::vector<HookRow> rows;
  std::map<QString, QString> first;  // library that has an id first
  for (const plugin::FoundLibrary& library : libraries_) {
    HookRow row;
    row.path = QString::fromStdString(library.path);
    row.from = QString::fromUtf8(plugin::name(library.from).data(),
                                 static_cast<qsizetype>(plugin::name(library.from).size()));
    if (!library.error.empty()) {
      row.id = QFileInfo(row.path).completeBaseName();
      row.state = State::kRefused;
      row.error = QString::fromStdString(library.error);
      rows.push_back(std::move(row));
      continue;
    }
    row.abi = QString::number(LOCKSTEP_ABI_MAJOR) + QLatin1Char('.') +
              QString::number(library.info.abiMinor);
    for (const plugin::HookInfo& info : library.info.hooks) {
      HookRow hook = row;
      hook.id = QString::fromStdString(info.id);
      hook.version = QString::fromStdString(info.version);
      hook.info = info;
      const auto [holder, isFirst] = first.emplace(hook.id, hook.path);
      judge(hook, !isFirst, holder->second);
      rows.push_back(std::move(hook));
    }
  }
  const auto alike = [](const HookRow& a, const HookRow& b) {
    return a.id == b.id && a.path == b.path;
  };
  if (std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(), alike)) {
    rows_ = std::move(rows);  // the selection stays
    if (!rows_.empty()) {
      emit dataChanged(index(0, 0), index(rowCount() - 1, kColumnCount - 1));
    }
    return;
  }
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int HooksModel::find(const QString& id) const {
  const auto at =
      std::find_if(rows_.begin(), rows_.end(), [&](const HookRow& row) { return row.id == id; });
  return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

QStringList HooksModel::offered() const {
  QStringList ids;
  for (const HookRow& row : rows_) {
    if (row.usable() && !isHookDisabled(row.id, row.path)) {
      ids << row.id;
    }
  }
  return ids;
}

int HooksModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int HooksModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QString HooksModel::text(const HookRow& row, int column) const {
  switch (column) {
    case kName:
      return row.id;
    case kVersion:
      return row.version;
    case kAbi:
      return row.abi;
    case kState:
      return nameOf(row.state);
    case kError:
      return row.error;
    case kFrom:
      return row.from;
    case kPath:
      return row.path;
    default:
      return {};
  }
}

QVariant HooksModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const HookRow& row = this->row(index.row());
  const Palette& palette = currentPalette();
  switch (role) {
    case Qt::DisplayRole:
      return text(row, index.column());
    case Qt::ToolTipRole:
      return row.error.isEmpty() ? QString::fromStdString(row.info.summary) : row.error;
    case Qt::ForegroundRole:
      if (row.refused() || (row.state == State::kFailed && index.column() <= kError)) {
        return palette.error;
      }
      if (row.state == State::kHidden || row.state == State::kDisabled) {
        return palette.textMuted;
      }
      return row.state == State::kVerified && index.column() == kState ? QVariant(palette.good)
                                                                       : QVariant();
    case Qt::BackgroundRole:
      return row.refused() ? QVariant(mixed(palette.error, palette.background, 0.12)) : QVariant();
    default:
      return {};
  }
}

QVariant HooksModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  static const std::array<std::pair<const char*, const char*>, kColumnCount> kHeads{{
      {QT_TR_NOOP("Name"), QT_TR_NOOP("What hook.name of an experiment says")},
      {QT_TR_NOOP("Version"), QT_TR_NOOP("Of the hook")},
      {QT_TR_NOOP("ABI"), QT_TR_NOOP("Version of the plugin border that it was built for")},
      {QT_TR_NOOP("State"), QT_TR_NOOP("Whether experiments can use it")},
      {QT_TR_NOOP("Last error"), QT_TR_NOOP("Why it was refused, or what its verification found")},
      {QT_TR_NOOP("From"), QT_TR_NOOP("Whose folder it lies in")},
      {QT_TR_NOOP("Path"), QT_TR_NOOP("Of its library")},
  }};
  const auto& head = kHeads.at(static_cast<std::size_t>(section));
  return role == Qt::DisplayRole         ? QVariant(tr(head.first))
         : role == Qt::ToolTipRole       ? QVariant(tr(head.second))
         : role == Qt::TextAlignmentRole ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                         : QVariant();
}

}  // namespace lockstep::ui

#include "ui/panels/hooks/FoundHooks.h"

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
      return TableRows::tr("ready");
    case State::kHidden:
      return TableRows::tr("hidden");
    case State::kDisabled:
      return TableRows::tr("disabled");
    case State::kVerifying:
      return TableRows::tr("verifying…");
    case State::kVerified:
      return TableRows::tr("✓ verified");
    case State::kFailed:
      return TableRows::tr("✗ failed");
    case State::kRefused:
      return TableRows::tr("✗ refused");
  }
  return {};
}

void FoundHooks::setLibraries(std::vector<plugin::FoundLibrary> libraries) {
  libraries_ = std::move(libraries);
  rebuild();
}

void FoundHooks::disabledChanged() {
  rebuild();
}

void FoundHooks::setVerifying(const QString& library) {
  verifying_ = library;
  rebuild();
}

void FoundHooks::setVerdicts(const QString& library, const std::map<QString, HookVerdict>& verdicts,
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

void FoundHooks::judge(HookRow& row, bool hidden, const QString& hider) const {
  const auto verdict = verdicts_.find({row.path, row.id});
  const auto stamp = stamps_.find(row.path);
  if (verdict != verdicts_.end() && stamp != stamps_.end() && stamp->second == stampOf(row.path)) {
    row.verdict = verdict->second;
  }
  if (row.path == verifying_) {
    row.state = State::kVerifying;
  } else if (hidden) {
    row.state = State::kHidden;
    row.error = TableRows::tr("%1 has a hook of this name and is looked at first").arg(hider);
  } else if (isHookDisabled(row.id, row.path)) {
    row.state = State::kDisabled;
  } else if (row.verdict) {
    row.state = row.verdict->passes ? State::kVerified : State::kFailed;
  }
  if (row.verdict && !row.verdict->passes && row.error.isEmpty()) {
    row.error = faultOf(*row.verdict);
  }
}

void FoundHooks::rebuild() {
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
  rows_ = std::move(rows);
}

std::optional<std::size_t> FoundHooks::find(const QString& id) const {
  const auto at =
      std::find_if(rows_.begin(), rows_.end(), [&](const HookRow& row) { return row.id == id; });
  return at == rows_.end() ? std::nullopt
                           : std::optional(static_cast<std::size_t>(at - rows_.begin()));
}

QStringList FoundHooks::offered() const {
  QStringList ids;
  for (const HookRow& row : rows_) {
    if (row.usable() && !isHookDisabled(row.id, row.path)) {
      ids << row.id;
    }
  }
  return ids;
}

namespace {

std::vector<TableRows::Column> foundColumns() {
  static const std::array<std::pair<const char*, const char*>, HooksFoundTable::kColumnCount>
      kHeads{{
          {QT_TR_NOOP("Name"), QT_TR_NOOP("What hook.name of an experiment says")},
          {QT_TR_NOOP("Version"), QT_TR_NOOP("Of the hook")},
          {QT_TR_NOOP("ABI"), QT_TR_NOOP("Version of the plugin border that it was built for")},
          {QT_TR_NOOP("State"), QT_TR_NOOP("Whether experiments can use it")},
          {QT_TR_NOOP("Last error"),
           QT_TR_NOOP("Why it was refused, or what its verification found")},
          {QT_TR_NOOP("From"), QT_TR_NOOP("Whose folder it lies in")},
          {QT_TR_NOOP("Path"), QT_TR_NOOP("Of its library")},
      }};
  std::vector<TableRows::Column> columns;
  for (const auto& [title, tip] : kHeads) {
    columns.push_back({TableRows::tr(title), TableRows::tr(tip)});
  }
  return columns;
}

}  // namespace

HooksFoundTable::HooksFoundTable(std::vector<HookRow> rows)
    : TableRows(foundColumns()), rows_(std::move(rows)) {}

QString HooksFoundTable::text(std::size_t at, std::size_t column) const {
  const HookRow& row = rows_[at];
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

QString HooksFoundTable::tip(std::size_t row, std::size_t) const {
  return rows_[row].error.isEmpty() ? QString::fromStdString(rows_[row].info.summary)
                                    : rows_[row].error;
}

QVariant HooksFoundTable::look(std::size_t at, std::size_t column, int role) const {
  const HookRow& row = rows_[at];
  const Palette& palette = currentPalette();
  if (role == Qt::BackgroundRole && row.refused()) {
    return mixed(palette.error, palette.background, 0.12);
  }
  if (role != Qt::ForegroundRole) {
    return {};
  }
  if (row.refused() || (row.state == State::kFailed && column <= kError)) {
    return palette.error;
  }
  if (row.state == State::kHidden || row.state == State::kDisabled) {
    return palette.textMuted;
  }
  return row.state == State::kVerified && column == kState ? QVariant(palette.good) : QVariant();
}

bool HooksFoundTable::continues(const TableRows& before) const {
  const std::vector<HookRow>& then = static_cast<const HooksFoundTable&>(before).rows_;
  return std::equal(
      rows_.begin(), rows_.end(), then.begin(), then.end(),
      [](const HookRow& a, const HookRow& b) { return a.id == b.id && a.path == b.path; });
}

}  // namespace lockstep::ui

#include "ui/panels/RunsModel.h"

#include <QLocale>
#include <QRegularExpression>
#include <algorithm>
#include <array>

#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

struct ColumnText {
  const char* title;
  const char* key;  // in the filter line
  const char* help;
  const char* sample;  // as wide as most
  bool number;
};

constexpr std::array<ColumnText, RunsModel::kColumnCount> kColumns{{
    {"State", "state", "Life of the run as its file says it", "finished", false},
    {"Name", "name", "experiment.name", "gradient accumu", false},
    {"Exposed ms", "exposed", "Communication that nothing hid, a step, on the rank that has most of it", "000.00", true},
    {"Started", "started", "Local time", "00:00:00", false},
    {"Overlap %", "overlap",
     "Time in which communication was in flight and the rank computed, over time in which it "
     "was in flight, on the rank with the most exposed communication",
     "100", true},
    {"Steps/s", "steps", "Steps a second after the start-up", "000.0", true},
    {"Cap MiB", "cap", "ddp.bucket_cap_mb", "25", true},
    {"World", "world", "Number of ranks (processes.world_size)", "64", true},
    {"Model", "model", "model.kind", "deep_linear", false},
    {"Backend", "backend",
     "processes.backend, or what auto became; processes.strategy where it is not ddp",
     "shared_memory", false},
    {"Hook", "hook", "Communication hook (hook.name)", "allreduce", false},
    {"Drops", "drops", "Events lost because the recorder fell behind", "0,000", true},
    {"Sweep", "sweep", "The sweep that it is one run of; filter by \"sweep:WORD\"", "demo 2026",
     false},
}};

const QString kUnknown = QStringLiteral("–");
const QString kFullTime = QStringLiteral("yyyy-MM-dd HH:mm:ss");

// The time of day for a run of today, else the day as well: runs of one name are told apart by it.
QString shortTime(const RunEntry& run) {
  if (!run.problem.isEmpty()) {
    return {};
  }
  const QDateTime local = run.started.toLocalTime();
  const bool today = local.date() == QDate::currentDate();
  return QLocale::c().toString(local, today ? QStringLiteral("HH:mm:ss")
                                            : QStringLiteral("d MMM HH:mm"));
}

QString orUnknown(const QString& text) { return text.isEmpty() ? kUnknown : text; }

QString number(const std::optional<double>& value, int decimals) {
  return value ? QLocale::c().toString(*value, 'f', decimals) : kUnknown;
}

}  // namespace

QString RunsModel::widestText(int column) {
  const QString title = tr(kColumns[column].title);
  const QString sample = QString::fromLatin1(kColumns[column].sample);
  return title.size() > sample.size() ? title : sample;
}

QString stateText(trace::RunState state) {
  switch (state) {
    case trace::RunState::kStarting: return RunsModel::tr("starting");
    case trace::RunState::kRunning: return RunsModel::tr("running");
    case trace::RunState::kFinished: return RunsModel::tr("finished");
    case trace::RunState::kFailed: return RunsModel::tr("failed");
    case trace::RunState::kStopped: return RunsModel::tr("stopped");
    case trace::RunState::kDiverged:
      return RunsModel::tr("diverged");
    case trace::RunState::kRecorderDied: return RunsModel::tr("recorder died");
  }
  return {};
}

void RunsModel::setEntries(std::vector<RunEntry> entries) {
  const auto samePath = [](const RunEntry& a, const RunEntry& b) { return a.path == b.path; };
  std::sort(entries.begin(), entries.end(),
            [](const RunEntry& a, const RunEntry& b) { return a.path < b.path; });
  // Both lists are in path order: walk them together.
  std::size_t row = 0;
  for (std::size_t i = 0; i < entries.size() || row < entries_.size();) {
    const bool has = row < entries_.size();
    const bool wants = i < entries.size();
    if (has && wants && samePath(entries_[row], entries[i])) {
      if (!(entries_[row] == entries[i])) {
        entries_[row] = std::move(entries[i]);
        emit dataChanged(index(static_cast<int>(row), 0),
                         index(static_cast<int>(row), kColumnCount - 1));
      }
      ++row;
      ++i;
    } else if (has && (!wants || entries_[row].path < entries[i].path)) {
      beginRemoveRows({}, static_cast<int>(row), static_cast<int>(row));
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(row));
      endRemoveRows();
    } else {
      beginInsertRows({}, static_cast<int>(row), static_cast<int>(row));
      entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(row), std::move(entries[i]));
      endInsertRows();
      ++row;
      ++i;
    }
  }
}

int RunsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

int RunsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant RunsModel::value(const RunEntry& entry, int column) const {
  const auto orLowest = [](const std::optional<double>& v) { return v.value_or(-1); };
  switch (column) {
    case kWorld: return entry.worldSize;
    case kBucketCap: return orLowest(entry.bucketCapMb);
    case kStepsPerSecond: return orLowest(entry.stepsPerSecond);
    case kOverlap: return orLowest(entry.overlapPercent);
    case kExposed: return orLowest(entry.exposedMs);
    case kDrops: return static_cast<qulonglong>(entry.drops);
    case kStarted: return entry.started;
    default: return text(entry, column);
  }
}

QString RunsModel::text(const RunEntry& entry, int column) const {
  if (!entry.problem.isEmpty() && column != kState && column != kName) {
    return {};
  }
  switch (column) {
    case kState: return entry.problem.isEmpty() ? stateText(entry.state) : tr("unreadable");
    case kName: return entry.name;
    case kModel: return orUnknown(entry.model);
    case kWorld: return QString::number(entry.worldSize);
    case kBackend: return orUnknown(entry.backend);
    case kHook: return orUnknown(entry.hook);
    case kBucketCap:
      return entry.bucketCapMb ? QLocale::c().toString(*entry.bucketCapMb, 'g', 4) : kUnknown;
    case kStepsPerSecond: return number(entry.stepsPerSecond, 1);
    case kOverlap: return number(entry.overlapPercent, 0);
    case kExposed: return number(entry.exposedMs, 2);
    case kDrops: return QString::number(entry.drops);
    case kSweep: return orUnknown(entry.sweep);
    case kStarted: return entry.started.toLocalTime().toString(kFullTime);
    default: return {};
  }
}

QVariant RunsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  const RunEntry& run = entries_.at(index.row());
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole: return column == kStarted ? shortTime(run) : text(run, column);
    case kFullTextRole: return text(run, column);
    case kValueRole: return value(run, column);
    case Qt::TextAlignmentRole:
      return QVariant(kColumns[column].number ? Qt::AlignRight | Qt::AlignVCenter
                                              : Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::ToolTipRole:
      if (!run.problem.isEmpty()) {
        return run.problem;
      }
      if (column == kStarted || column == kName || column == kBackend || column == kSweep) {  // may be cut off
        return text(run, column);
      }
      return run.failure.isEmpty() ? run.path : run.path + '\n' + run.failure;
    case Qt::ForegroundRole: {
      const Palette& colors = currentPalette();
      if (column == kState) {
        if (!run.problem.isEmpty()) return colors.error;
        switch (run.state) {
          case trace::RunState::kStarting:
          case trace::RunState::kRunning:
            return run.failure.isEmpty() ? currentAccent() : colors.error;
          case trace::RunState::kFinished: return colors.good;
          case trace::RunState::kStopped: return colors.textMuted;
          case trace::RunState::kFailed:
          case trace::RunState::kDiverged:
          case trace::RunState::kRecorderDied: return colors.error;
        }
      }
      if (column == kDrops && run.drops > 0) return colors.error;
      return {};
    }
    default: return {};
  }
}

QVariant RunsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) {
    return {};
  }
  switch (role) {
    case Qt::DisplayRole: return tr(kColumns[section].title);
    case Qt::ToolTipRole: return tr(kColumns[section].help);
    case Qt::TextAlignmentRole:
      return QVariant(kColumns[section].number ? Qt::AlignRight | Qt::AlignVCenter
                                               : Qt::AlignLeft | Qt::AlignVCenter);
    default: return {};
  }
}

RunsFilter::RunsFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(RunsModel::kValueRole);
  setDynamicSortFilter(true);
}

void RunsFilter::setLine(const QString& line) {
  static const QRegularExpression kTerm(R"(^([a-z]+)(:|<=|>=|<|>|=)(.+)$)");
  terms_.clear();
  for (const QString& part : line.toLower().split(' ', Qt::SkipEmptyParts)) {
    Term term;
    term.word = part;
    if (const auto match = kTerm.match(part); match.hasMatch()) {
      for (int column = 0; column < RunsModel::kColumnCount; ++column) {
        if (match.captured(1) == QLatin1String(kColumns[column].key)) {
          term.column = column;
          term.compare = match.captured(2);
          term.word = match.captured(3);
        }
      }
    }
    bool isNumber = false;
    term.number = term.word.toDouble(&isNumber);
    if (!isNumber && term.compare != ":" && term.column >= 0) {
      term.compare = ":";  // "model=mlp" means what it says
    }
    terms_.push_back(term);
  }
  invalidateFilter();
}

bool RunsFilter::accepts(const Term& term, int row) const {
  const auto contains = [&](int column) {
    return sourceModel()->index(row, column)
        .data(RunsModel::kFullTextRole)
        .toString()
        .toLower()
        .contains(term.word);
  };
  if (term.column < 0) {
    for (int column = 0; column < RunsModel::kColumnCount; ++column) {
      if (!kColumns[column].number && contains(column)) {
        return true;
      }
    }
    return false;
  }
  if (term.compare == ":") {
    return contains(term.column);
  }
  const double value =
      sourceModel()->index(row, term.column).data(RunsModel::kValueRole).toDouble();
  if (term.compare == "<") return value < term.number;
  if (term.compare == "<=") return value <= term.number;
  if (term.compare == ">") return value > term.number;
  if (term.compare == ">=") return value >= term.number;
  return value == term.number;
}

bool RunsFilter::filterAcceptsRow(int row, const QModelIndex& /*parent*/) const {
  for (const Term& term : terms_) {
    if (!accepts(term, row)) {
      return false;
    }
  }
  return true;
}

}  // namespace lockstep::ui

#include "ui/panels/RunsTable.h"

#include <QLocale>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <utility>

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

constexpr std::array<ColumnText, RunsTable::kColumnCount> kColumns{{
    {"State", "state", "Life of the run as its file says it", "finished", false},
    {"Name", "name", "experiment.name", "gradient accumu", false},
    {"Exposed ms", "exposed",
     "Communication that nothing hid, a step, on the rank that has most of it", "000.00", true},
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
  return QLocale::c().toString(local,
                               today ? QStringLiteral("HH:mm:ss") : QStringLiteral("d MMM HH:mm"));
}

QString orUnknown(const QString& text) {
  return text.isEmpty() ? kUnknown : text;
}

QString figure(const std::optional<double>& value, int decimals) {
  return value ? QLocale::c().toString(*value, 'f', decimals) : kUnknown;
}

std::vector<TableRows::Column> runColumns() {
  std::vector<TableRows::Column> columns;
  for (const ColumnText& column : kColumns) {
    columns.push_back({TableRows::tr(column.title), TableRows::tr(column.help), column.number});
  }
  columns[RunsTable::kStarted].byNumber = true;
  return columns;
}

}  // namespace

RunsTable::RunsTable(std::vector<RunEntry> entries)
    : TableRows(runColumns()), entries_(std::move(entries)) {
  std::sort(entries_.begin(), entries_.end(),
            [](const RunEntry& a, const RunEntry& b) { return a.path < b.path; });
}

QString RunsTable::widestText(std::size_t column) {
  const QString title = tr(kColumns[column].title);
  const QString sample = QString::fromLatin1(kColumns[column].sample);
  return title.size() > sample.size() ? title : sample;
}

QString stateText(trace::RunState state) {
  switch (state) {
    case trace::RunState::kStarting:
      return TableRows::tr("starting");
    case trace::RunState::kRunning:
      return TableRows::tr("running");
    case trace::RunState::kFinished:
      return TableRows::tr("finished");
    case trace::RunState::kFailed:
      return TableRows::tr("failed");
    case trace::RunState::kStopped:
      return TableRows::tr("stopped");
    case trace::RunState::kDiverged:
      return TableRows::tr("diverged");
    case trace::RunState::kRecorderDied:
      return TableRows::tr("recorder died");
  }
  return {};
}

std::optional<std::size_t> RunsTable::placeOf(const TableRows& before, std::size_t row) const {
  const QString& path = static_cast<const RunsTable&>(before).entry(row).path;
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), path,
      [](const RunEntry& entry, const QString& wanted) { return entry.path < wanted; });
  return at != entries_.end() && at->path == path
             ? std::optional(static_cast<std::size_t>(at - entries_.begin()))
             : std::nullopt;
}

QString RunsTable::text(std::size_t row, std::size_t column) const {
  return column == kStarted ? shortTime(entries_[row]) : fullText(row, column);
}

std::optional<double> RunsTable::number(std::size_t row, std::size_t column) const {
  const RunEntry& entry = entries_[row];
  switch (column) {
    case kWorld:
      return entry.worldSize;
    case kBucketCap:
      return entry.bucketCapMb.value_or(-1);
    case kStepsPerSecond:
      return entry.stepsPerSecond.value_or(-1);
    case kOverlap:
      return entry.overlapPercent.value_or(-1);
    case kExposed:
      return entry.exposedMs.value_or(-1);
    case kDrops:
      return static_cast<double>(entry.drops);
    case kStarted:
      return static_cast<double>(entry.started.toMSecsSinceEpoch());
    default:
      return std::nullopt;
  }
}

QString RunsTable::fullText(std::size_t row, std::size_t column) const {
  const RunEntry& entry = entries_[row];
  if (!entry.problem.isEmpty() && column != kState && column != kName) {
    return {};
  }
  switch (column) {
    case kState:
      return entry.problem.isEmpty() ? stateText(entry.state) : tr("unreadable");
    case kName:
      return entry.name;
    case kModel:
      return orUnknown(entry.model);
    case kWorld:
      return QString::number(entry.worldSize);
    case kBackend:
      return orUnknown(entry.backend);
    case kHook:
      return orUnknown(entry.hook);
    case kBucketCap:
      return entry.bucketCapMb ? QLocale::c().toString(*entry.bucketCapMb, 'g', 4) : kUnknown;
    case kStepsPerSecond:
      return figure(entry.stepsPerSecond, 1);
    case kOverlap:
      return figure(entry.overlapPercent, 0);
    case kExposed:
      return figure(entry.exposedMs, 2);
    case kDrops:
      return QString::number(entry.drops);
    case kSweep:
      return orUnknown(entry.sweep);
    case kStarted:
      return entry.started.toLocalTime().toString(kFullTime);
    default:
      return {};
  }
}

QString RunsTable::tip(std::size_t row, std::size_t column) const {
  const RunEntry& run = entries_[row];
  if (!run.problem.isEmpty()) {
    return run.problem;
  }
  if (column == kStarted || column == kName || column == kBackend || column == kSweep) {
    return fullText(row, column);  // may be cut off
  }
  return run.failure.isEmpty() ? run.path : run.path + '\n' + run.failure;
}

QVariant RunsTable::look(std::size_t row, std::size_t column, int role) const {
  const RunEntry& run = entries_[row];
  const Palette& colors = currentPalette();
  if (role != Qt::ForegroundRole) {
    return {};
  }
  if (column == kDrops && run.drops > 0) {
    return colors.error;
  }
  if (column != kState) {
    return {};
  }
  if (!run.problem.isEmpty()) {
    return colors.error;
  }
  switch (run.state) {
    case trace::RunState::kStarting:
    case trace::RunState::kRunning:
      return run.failure.isEmpty() ? currentAccent() : colors.error;
    case trace::RunState::kFinished:
      return colors.good;
    case trace::RunState::kStopped:
      return colors.textMuted;
    case trace::RunState::kFailed:
    case trace::RunState::kDiverged:
    case trace::RunState::kRecorderDied:
      return colors.error;
  }
  return {};
}

RunsFilter::RunsFilter(const QString& line) {
  static const QRegularExpression kTerm(R"(^([a-z]+)(:|<=|>=|<|>|=)(.+)$)");
  for (const QString& part : line.toLower().split(' ', Qt::SkipEmptyParts)) {
    Term term;
    term.word = part;
    if (const auto match = kTerm.match(part); match.hasMatch()) {
      for (std::size_t column = 0; column < kColumns.size(); ++column) {
        if (match.captured(1) == QLatin1String(kColumns[column].key)) {
          term.column = column;
          term.compare = match.captured(2);
          term.word = match.captured(3);
        }
      }
    }
    bool isNumber = false;
    term.number = term.word.toDouble(&isNumber);
    if (!isNumber && term.compare != ":" && term.column) {
      term.compare = ":";  // "model=mlp" means what it says
    }
    terms_.push_back(term);
  }
}

bool RunsFilter::accepts(const Term& term, const RunsTable& runs, std::size_t row) {
  const auto contains = [&](std::size_t column) {
    return runs.fullText(row, column).toLower().contains(term.word);
  };
  if (!term.column) {
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      if (!kColumns[column].number && contains(column)) {
        return true;
      }
    }
    return false;
  }
  if (term.compare == ":") {
    return contains(*term.column);
  }
  const double value = kColumns[*term.column].number ? runs.number(row, *term.column).value_or(0)
                                                     : runs.fullText(row, *term.column).toDouble();
  if (term.compare == "<") return value < term.number;
  if (term.compare == "<=") return value <= term.number;
  if (term.compare == ">") return value > term.number;
  if (term.compare == ">=") return value >= term.number;
  return value == term.number;
}

bool RunsFilter::accepts(const RunsTable& runs, std::size_t row) const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const Term& term) { return accepts(term, runs, row); });
}

}  // namespace lockstep::ui

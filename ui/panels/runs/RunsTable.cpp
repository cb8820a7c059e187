#include "ui/panels/runs/RunsTable.h"

#include <QLocale>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <utility>

#include "ui/panels/CurrentPalette.h"

namespace lockstep::ui {
namespace {

const QString kUnknown = QStringLiteral("–");

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

QString figure(const std::optional<double>& value, int decimals, char format = 'f') {
  return value ? QLocale::c().toString(*value, format, decimals) : kUnknown;
}

// One column, in the order of RunsTable::Cell.
struct RunColumn {
  const char* title;
  const char* key;  // in the filter line
  const char* help;
  const char* sample;  // as wide as most
  QString (*text)(const RunEntry& run);
  std::optional<double> (*number)(const RunEntry& run) = nullptr;  // what it is sorted by
};

constexpr std::array<RunColumn, RunsTable::kColumnCount> kColumns{{
    {"State", "state", "Life of the run as its file says it", "finished",
     [](const RunEntry& run) {
       return run.problem.isEmpty() ? stateText(run.state) : TableRows::tr("unreadable");
     }},
    {"Name", "name", "experiment.name", "gradient accumu",
     [](const RunEntry& run) { return run.name; }},
    {"Exposed ms", "exposed",
     "Communication that nothing hid, a step, on the rank that has most of it", "000.00",
     [](const RunEntry& run) { return figure(run.exposedMs, 2); },
     [](const RunEntry& run) { return run.exposedMs; }},
    {"Started", "started", "Local time", "00:00:00",
     [](const RunEntry& run) {
       return run.started.toLocalTime().toString(QStringLiteral("yyyy-MM-dd HH:mm:ss"));
     },
     [](const RunEntry& run) { return std::optional<double>(run.started.toMSecsSinceEpoch()); }},
    {"Overlap %", "overlap",
     "Time in which communication was in flight and the rank computed, over time in which it "
     "was in flight, on the rank with the most exposed communication",
     "100", [](const RunEntry& run) { return figure(run.overlapPercent, 0); },
     [](const RunEntry& run) { return run.overlapPercent; }},
    {"Steps/s", "steps", "Steps a second after the start-up", "000.0",
     [](const RunEntry& run) { return figure(run.stepsPerSecond, 1); },
     [](const RunEntry& run) { return run.stepsPerSecond; }},
    {"Cap MiB", "cap", "ddp.bucket_cap_mb", "25",
     [](const RunEntry& run) { return figure(run.bucketCapMb, 4, 'g'); },
     [](const RunEntry& run) { return run.bucketCapMb; }},
    {"World", "world", "Number of ranks (processes.world_size)", "64",
     [](const RunEntry& run) { return QString::number(run.worldSize); },
     [](const RunEntry& run) { return std::optional<double>(run.worldSize); }},
    {"Model", "model", "model.kind", "deep_linear",
     [](const RunEntry& run) { return orUnknown(run.model); }},
    {"Backend", "backend",
     "processes.backend, or what auto became; processes.strategy where it is not ddp",
     "shared_memory", [](const RunEntry& run) { return orUnknown(run.backend); }},
    {"Hook", "hook", "Communication hook (hook.name)", "allreduce",
     [](const RunEntry& run) { return orUnknown(run.hook); }},
    {"Drops", "drops", "Events lost because the recorder fell behind", "0,000",
     [](const RunEntry& run) { return QString::number(run.drops); },
     [](const RunEntry& run) { return std::optional<double>(run.drops); }},
    {"Sweep", "sweep", "The sweep that it is one run of; filter by \"sweep:WORD\"", "demo 2026",
     [](const RunEntry& run) { return orUnknown(run.sweep); }},
}};

/// Figures are told apart from words, and times are words that are sorted as numbers.
bool isFigure(std::size_t column) {
  return kColumns[column].number != nullptr && column != RunsTable::kStarted;
}

std::vector<TableRows::Column> runColumns() {
  std::vector<TableRows::Column> columns;
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    columns.push_back({TableRows::tr(kColumns[i].title), TableRows::tr(kColumns[i].help),
                       isFigure(i), kColumns[i].number != nullptr});
  }
  return columns;
}

}  // namespace

RunsTable::RunsTable(std::vector<RunEntry> entries)
    : TableRows(runColumns()), entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, &RunEntry::path);
}

QString RunsTable::widestText(std::size_t column) {
  const QString title = tr(kColumns[column].title);
  const QString sample = QString::fromLatin1(kColumns[column].sample);
  return title.size() > sample.size() ? title : sample;
}

QString stateText(trace::RunState state) {
  static constexpr const char* kWords[] = {"starting", "running",  "finished",     "failed",
                                           "stopped",  "diverged", "recorder died"};
  return TableRows::tr(kWords[static_cast<std::size_t>(state)]);
}

std::optional<std::size_t> RunsTable::placeOf(const TableRows& before, std::size_t row) const {
  const QString& path = static_cast<const RunsTable&>(before).entry(row).path;
  const auto at = std::ranges::lower_bound(entries_, path, {}, &RunEntry::path);
  return at != entries_.end() && at->path == path
             ? std::optional(static_cast<std::size_t>(at - entries_.begin()))
             : std::nullopt;
}

QString RunsTable::text(std::size_t row, std::size_t column) const {
  return column == kStarted ? shortTime(entries_[row]) : fullText(row, column);
}

std::optional<double> RunsTable::number(std::size_t row, std::size_t column) const {
  const auto number = kColumns[column].number;
  const bool known = entries_[row].problem.isEmpty() || !isFigure(column);
  return known && number != nullptr ? number(entries_[row]) : std::nullopt;
}

QString RunsTable::fullText(std::size_t row, std::size_t column) const {
  const RunEntry& entry = entries_[row];
  const bool readable = entry.problem.isEmpty() || column == kState || column == kName;
  return readable ? kColumns[column].text(entry) : QString();
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
  if (role != Qt::ForegroundRole || (column != kState && !(column == kDrops && run.drops > 0))) {
    return {};
  }
  if (column == kDrops || !run.problem.isEmpty()) {
    return colors.error;
  }
  return run.live() && run.failure.isEmpty()       ? currentAccent()
         : run.state == trace::RunState::kFinished ? colors.good
         : run.state == trace::RunState::kStopped  ? colors.textMuted
                                                   : colors.error;
}

// Note [The filter of runs]
//
// A line is cut at its blanks, and a run is shown when every piece holds for it:
//
//   mlp            occurs in some column of words
//   backend:gloo   occurs in that column
//   world>2        the number of that column is greater; also < <= = >=
//   model=mlp      is compared with a word, so it means model:mlp
//   foo:bar        no column is called foo: the whole piece is a word to look for
//
// Words are looked for in the full text of a cell (a start with its year), whatever their case.
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
      if (!isFigure(column) && contains(column)) {
        return true;
      }
    }
    return false;
  }
  if (term.compare == ":") {
    return contains(*term.column);
  }
  bool known = false;
  double value = runs.fullText(row, *term.column).toDouble(&known);
  if (isFigure(*term.column)) {
    const auto figure = runs.number(row, *term.column);
    known = figure.has_value();
    value = figure.value_or(0);
  }
  if (!known) return false;  // what is unknown is neither small nor large
  if (term.compare == "<") return value < term.number;
  if (term.compare == "<=") return value <= term.number;
  if (term.compare == ">") return value > term.number;
  if (term.compare == ">=") return value >= term.number;
  return value == term.number;
}

bool RunsFilter::accepts(const RunsTable& runs, std::size_t row) const {
  return std::ranges::all_of(terms_, [&](const Term& term) { return accepts(term, runs, row); });
}

}  // namespace lockstep::ui

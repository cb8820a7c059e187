#include "ui/panels/runs/RunsTable.h"

#include <QLocale>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <utility>

#include "engine/analysis/Compare.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/runs/StateMark.h"

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
       return run.unread              ? TableRows::tr("not read yet")
              : run.problem.isEmpty() ? stateText(run.state)
                                      : TableRows::tr("unreadable");
     }},
    {"Name", "name",
     "As you called it, else experiment.name; below, what differs from others of that name",
     "gradient accumulation", [](const RunEntry& run) { return run.shownName(); }},
    {"Exposed ms", "exposed",
     "Communication that nothing hid, a step, on the rank that has most of it", "000.00",
     [](const RunEntry& run) { return figure(run.exposedMs, 2); },
     [](const RunEntry& run) { return run.exposedMs; }},
    {"Step ms", "step",
     "A step after the warm-up, the middle one, and their course over the run, on the rank with "
     "the most exposed communication",
     "course 000.00", [](const RunEntry& run) { return figure(run.stepMs, 2); },
     [](const RunEntry& run) { return run.stepMs; }},
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
    {"Tags", "tag", "Your words for it; filter by \"tag:WORD\"", "baseline",
     [](const RunEntry& run) { return run.label.tags.join(QStringLiteral(", ")); }},
    {"Note", "note", "What you wrote about it", "after the fix",
     [](const RunEntry& run) { return run.label.note; }},
    {"Group", "group", "What the runs that stand together have in common", "2026-01-01",
     [](const RunEntry&) { return QString(); },
     [](const RunEntry&) { return std::optional<double>(); }},
}};

/// Figures are told apart from words, and times are words that are sorted as numbers.
bool isFigure(std::size_t column) {
  return kColumns[column].number != nullptr && column != RunsTable::kStarted &&
         column != RunsTable::kGroup;
}

/// Whether a column says something of a run whose file could not be read, or not yet.
bool isKnownUnread(std::size_t column) {
  return column == RunsTable::kState || column == RunsTable::kName || column == RunsTable::kTags ||
         column == RunsTable::kNote;
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

RunsTable::RunsTable(std::vector<RunEntry> entries, const QString& groupBy,
                     const QStringList& compared)
    : TableRows(runColumns()), entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, &RunEntry::path);
  groups_ = RunGroups(entries_, groupBy);
  if (groupedBy()) {
    columns_[kGroup].title = groups_.title;
  }
  for (const QString& path : compared) {
    compared_.insert(path, static_cast<int>(compared_.size()));
  }
}

std::optional<std::size_t> RunsTable::groupedBy() const {
  return groups_.title.isEmpty() ? std::nullopt : std::optional<std::size_t>(kGroup);
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
  return column == kStarted ? shortTime(entries_[row])
         : column == kName  ? entries_[row].shownName()
         : column == kNote  ? entries_[row].label.note.simplified()
                            : fullText(row, column);
}

std::optional<double> RunsTable::number(std::size_t row, std::size_t column) const {
  if (column == kGroup) {
    return groups_.order.empty() ? std::nullopt : groups_.order[row];
  }
  const auto number = kColumns[column].number;
  const bool known =
      (entries_[row].problem.isEmpty() && !entries_[row].unread) || !isFigure(column);
  return known && number != nullptr ? number(entries_[row]) : std::nullopt;
}

QString RunsTable::fullText(std::size_t row, std::size_t column) const {
  const RunEntry& entry = entries_[row];
  if (column == kName) {
    return nameInFull(entry);
  }
  if (column == kGroup) {
    return groups_.texts.empty() ? QString() : orUnknown(groups_.texts[row]);
  }
  const bool readable = (entry.problem.isEmpty() && !entry.unread) || isKnownUnread(column);
  return readable ? kColumns[column].text(entry) : QString();
}

QString RunsTable::nameInFull(const RunEntry& run) const {
  QStringList lines{run.shownName()};
  if (!run.label.name.isEmpty()) {
    lines << tr("recorded as %1").arg(run.name);
  }
  if (!run.subtitle.isEmpty()) {
    lines << run.subtitle;
  }
  return lines.join('\n');
}

QString RunsTable::tip(std::size_t row, std::size_t column) const {
  const RunEntry& run = entries_[row];
  if (!run.problem.isEmpty()) {
    return run.problem;
  }
  if (column == kStarted || column == kName || column == kBackend || column == kSweep ||
      column == kTags || column == kNote || column == kGroup) {
    return fullText(row, column);  // may be cut off
  }
  QStringList lines{run.path};
  if (column == kState) {
    lines.prepend(fullText(row, column));  // of which there may be the mark alone
  } else if (column == kCourse && run.stepMs) {
    lines.prepend(tr("%1 ms").arg(fullText(row, column)));  // there may be the course alone
  }
  if (!run.failure.isEmpty()) {
    lines << run.failure;
  }
  return lines.join('\n');
}

QVariant RunsTable::look(std::size_t row, std::size_t column, int role) const {
  const RunEntry& run = entries_[row];
  const Palette& colors = currentPalette();
  if (column == kState && role == kMarkRole) {
    return static_cast<int>(stateMarkOf(run));
  }
  if (column == kCourse && role == kCourseRole) {
    return QVariant::fromValue(run.course);
  }
  if (column == kName && role == kSubtitleRole) {
    return run.subtitle;
  }
  if (column == kName && (role == kLetterRole || role == kColourRole)) {
    const auto at = compared_.constFind(run.path);
    return at == compared_.constEnd() ? QVariant()
           : role == kColourRole      ? QVariant(colors.rank(*at))
                                      : QVariant(QString::fromStdString(
                                            analysis::letterOf(static_cast<std::size_t>(*at))));
  }
  if (role != Qt::ForegroundRole || (column != kState && !(column == kDrops && run.drops > 0))) {
    return {};
  }
  if (run.unread) {
    return colors.textMuted;
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
//   bucket_cap_mb=5, ddp.bucket_cap_mb=5, hook.rank>2     a setting, its default included
//   foo:bar        neither column nor setting is called foo: the whole piece is a word to look for
//
// Words are looked for in the full text of a cell (a start with its year), whatever their case.
RunsFilter::RunsFilter(const QString& line) {
  static const QRegularExpression kTerm(R"(^([a-z_0-9.\[\]]+)(:|<=|>=|<|>|=)(.+)$)");
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
      if (const QString key = settingKey(match.captured(1)); !term.column && !key.isEmpty()) {
        term.setting = key;
        term.compare = match.captured(2);
        term.word = match.captured(3);
      }
    }
    bool isNumber = false;
    term.number = term.word.toDouble(&isNumber);
    if (!isNumber && term.compare != ":" && (term.column || !term.setting.isEmpty())) {
      term.compare = ":";  // "model=mlp" means what it says
    }
    terms_.push_back(term);
  }
}

bool RunsFilter::accepts(const Term& term, const RunsTable& runs, std::size_t row) {
  const auto contains = [&](std::size_t column) {
    return runs.fullText(row, column).toLower().contains(term.word);
  };
  if (!term.setting.isEmpty()) {
    const RunEntry& run = runs.entry(row);
    const bool read = run.problem.isEmpty() && !run.unread;
    const QString value = read ? settingText(run.settings, term.setting) : QString();
    bool isNumber = false;
    const double number = value.toDouble(&isNumber);
    return term.compare == ":" ? value.toLower().contains(term.word)
                               : isNumber && holds(term, number);
  }
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
  return known && holds(term, value);  // what is unknown is neither small nor large
}

bool RunsFilter::holds(const Term& term, double value) {
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

#include "ui/panels/statistics/StatisticsTable.h"

#include <QCollator>
#include <array>
#include <utility>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

struct ColumnWords {
  const char* title;
  const char* meaning;
};

constexpr std::array<ColumnWords, StatisticsTable::kColumnCount> kWords{{
    {"", ""},
    {"Count", "Spans and instants"},
    {"Total",
     "Time spent in it, over all threads; a span within another of the same row on the same thread "
     "is not counted again. Collectives and the communication of a hook go on without a thread: "
     "each counts"},
    {"Share",
     "The total, less what lies outside the measured time, over the measured time of all ranks. "
     "Rows lie within each other and threads work side by side: shares need not add up to 100 %"},
    {"Self", "Time spent in it and in nothing that lies within it on the same thread"},
    {"Mean", "Of the durations of its spans; instants have none"},
    {"Min", "The shortest span"},
    {"P50", "The median, over every span; between two, interpolated as numpy does"},
    {"P90", "90 % of the spans take no longer; between two, interpolated as numpy does"},
    {"P99", "99 % of the spans take no longer; between two, interpolated as numpy does"},
    {"Max", "The longest span"},
    {"Std", "Standard deviation of the durations, divided by their number"},
}};

double numberOf(const StatisticsRow& row, std::size_t column) {
  using Of = analysis::SpanStatistics;
  if (column < StatisticsTable::kTotal) {
    return static_cast<double>(row.of.count);
  }
  if (column == StatisticsTable::kShare) {
    return row.share;
  }
  // In the order of the columns from kTotal on; the share, a part of the run, has none.
  static constexpr double Of::*kTimes[] = {&Of::total, nullptr,       &Of::self, &Of::mean,
                                           &Of::min,   &Of::p50,      &Of::p90,  &Of::p99,
                                           &Of::max,   &Of::deviation};
  return row.of.*kTimes[column - StatisticsTable::kTotal];
}

std::vector<TableRows::Column> statisticsColumns(GroupBy by) {
  std::vector<TableRows::Column> columns{{titleOf(by), meaningOf(by)}};
  for (std::size_t i = 1; i < kWords.size(); ++i) {
    columns.push_back({TableRows::tr(kWords[i].title), TableRows::tr(kWords[i].meaning), true});
  }
  return columns;
}

}  // namespace

StatisticsTable::StatisticsTable(GroupBy by, std::vector<StatisticsRow> rows)
    : TableRows(statisticsColumns(by)), rows_(std::move(rows)) {}

bool StatisticsTable::lacks(std::size_t row, std::size_t column) const {
  return column > kCount && rows_[row].of.measured == 0;
}

QString StatisticsTable::text(std::size_t row, std::size_t column) const {
  if (column == kGroup) {
    return rows_[row].group.name;
  }
  if (lacks(row, column)) {
    return {};
  }
  const double number = numberOf(rows_[row], column);
  if (column == kCount) {
    return formatCount(rows_[row].of.count);
  }
  if (column == kShare) {
    return formatPercent(number * 100, number < 0.1 ? 2 : 1);
  }
  return formatDuration(number);
}

// What instants lack is less than anything.
std::optional<double> StatisticsTable::number(std::size_t row, std::size_t column) const {
  return lacks(row, column) ? -1 : numberOf(rows_[row], column);
}

QString StatisticsTable::tip(std::size_t row, std::size_t column) const {
  return lacks(row, column) ? tr("Instants have no duration")
         : column == kGroup ? rows_[row].group.name
                            : QString();
}

bool StatisticsTable::before(const QString& a, const QString& b, std::size_t) const {
  static thread_local const QCollator kCollator = [] {
    QCollator collator(QLocale(QLocale::English));
    collator.setNumericMode(true);
    collator.setCaseSensitivity(Qt::CaseInsensitive);
    return collator;
  }();
  return kCollator.compare(a, b) < 0;
}

}  // namespace lockstep::ui

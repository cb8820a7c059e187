#pragma once

#include <QString>
#include <QStringList>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ui/model/CounterFacts.h"
#include "ui/model/RunModel.h"
#include "ui/table/ColumnRows.h"

namespace lockstep::ui {

/// What is known of one counter on one rank over a stretch of time.
struct CounterRow {
  std::string name;
  int rank = 0;
  CounterFacts facts;
  CounterSeries::Summary summary;  ///< of what counts there, as the plot has it; empty: no value
  double peakNs = 0;               ///< of the first of the largest; within the stretch
  double last = 0;                 ///< may be no finite number
  double lastNs = 0;               ///< within the stretch
};

/// The rows of these counters, counter by counter, for all ranks that have values; without a
/// stretch those of the whole run. [ui-thread]
std::vector<CounterRow> counterRows(const RunModel& model, const QStringList& names,
                                    const std::optional<TimeRange>& within);

/// What a screen reader says about the plots: "Memory: at most 201 MiB, on rank 1." [ui-thread]
QString describeCounters(const RunModel& model, const QStringList& names);

/// The table beside the plots of counters.
class CounterTable : public ColumnRows {
 public:
  enum Cell : std::size_t {
    kCounter,
    kRank,
    kMinimum,
    kMean,
    kMaximum,
    kMaximumAt,
    kLast,
    kLastAt,
    kValues
  };

  explicit CounterTable(std::vector<CounterRow> rows = {});

  [[nodiscard]] const CounterRow& row(std::size_t row) const { return rows_[row]; }
  [[nodiscard]] std::size_t size() const override { return rows_.size(); }
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] QString tip(std::size_t row, std::size_t) const override {
    return rows_[row].facts.meaning;
  }
  /// A live run's rows get new figures.
  [[nodiscard]] bool continues(const TableRows& before) const override;

 private:
  std::vector<CounterRow> rows_;
};

}  // namespace lockstep::ui

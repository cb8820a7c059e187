#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ui/model/CounterFacts.h"
#include "ui/model/RunModel.h"

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

/// The table beside the plots of counters. [ui-thread]
class CounterTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kCounter,
    kRank,
    kMinimum,
    kMean,
    kMaximum,
    kMaximumAt,
    kLast,
    kLastAt,
    kValues,
    kColumns
  };

  using QAbstractTableModel::QAbstractTableModel;

  /// Rows of the same counters and ranks as before keep their selection.
  void setRows(std::vector<CounterRow> rows);
  [[nodiscard]] const CounterRow& row(int line) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  void reorder();
  [[nodiscard]] std::vector<std::size_t> ordered() const;

  std::vector<CounterRow> rows_;    // as they were given
  std::vector<std::size_t> order_;  // by line
  int sortColumn_ = -1;
  Qt::SortOrder sortOrder_ = Qt::AscendingOrder;
};

}  // namespace lockstep::ui

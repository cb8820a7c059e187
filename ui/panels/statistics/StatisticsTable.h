#pragma once

#include <vector>

#include "ui/panels/statistics/StatisticsSearch.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// Statistics as a table, times as people read them; names are sorted as people count, "bucket 2"
/// before "bucket 10".
class StatisticsTable : public TableRows {
 public:
  enum Cell : std::size_t {
    kGroup,
    kCount,
    kTotal,
    kShare,
    kSelf,
    kMean,
    kMin,
    kP50,
    kP90,
    kP99,
    kMax,
    kDeviation,
    kColumnCount
  };

  StatisticsTable(GroupBy by, std::vector<StatisticsRow> rows);

  [[nodiscard]] const std::vector<StatisticsRow>& rows() const { return rows_; }

  [[nodiscard]] std::size_t size() const override { return rows_.size(); }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] bool before(const QString& a, const QString& b, std::size_t column) const override;
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;

 private:
  /// Says whether a cell holds what only spans have, of a row of instants.
  [[nodiscard]] bool lacks(std::size_t row, std::size_t column) const;

  std::vector<StatisticsRow> rows_;
};

}  // namespace lockstep::ui

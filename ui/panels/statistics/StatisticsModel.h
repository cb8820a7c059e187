#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <memory>

#include "ui/panels/statistics/StatisticsSearch.h"

namespace lockstep::ui {

/// Statistics as a table, times as people read them. [ui-thread]
class StatisticsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
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
  /// What a cell is sorted by: a number, or the name of the group.
  static constexpr int kSortRole = Qt::UserRole + 1;

  using QAbstractTableModel::QAbstractTableModel;

  void setRows(GroupBy by, std::vector<StatisticsRow> rows);
  [[nodiscard]] const std::vector<StatisticsRow>& rows() const { return rows_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  [[nodiscard]] QString textOf(const StatisticsRow& row, int column) const;

  GroupBy by_ = GroupBy::kName;
  std::vector<StatisticsRow> rows_;
};

/// Sorts statistics: names as people count, "bucket 2" before "bucket 10".
class StatisticsOrderProxy : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

 protected:
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace lockstep::ui

#pragma once

#include <QAbstractTableModel>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ui/model/BackgroundJob.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// A table of rows, in their own order or sorted by a column, all of them or those that a filter
/// accepts. Long tables are handed out in pages while the user scrolls, and sorted and filtered on
/// a thread of the pool; the order stands until the new one is known. [ui-thread]
class RowsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kPage = 20'000;
  /// What a cell is sorted by: a number (none where it is unknown) or its text.
  static constexpr int kSortRole = Qt::UserRole;

  /// Says whether a row is shown. [any-thread]
  using Filter = std::function<bool(const TableRows& rows, std::size_t row)>;

  explicit RowsModel(QObject* parent = nullptr) : QAbstractTableModel(parent), job_(this) {}

  /// Null shows nothing. Sorting and filter stay.
  void setRows(std::shared_ptr<const TableRows> rows);
  [[nodiscard]] const std::shared_ptr<const TableRows>& rows() const { return rows_; }
  /// Null: every row is shown.
  void setFilter(Filter filter);
  /// Hands out that many lines at a time from now on.
  void setPage(int lines) { page_ = lines; }
  /// Whoever fills the table sorts it, too: a click on a title only asks for it.
  void leaveSorting() { sortedElsewhere_ = true; }

  /// Returns which of the rows stands in a line.
  [[nodiscard]] std::size_t rowAt(int line) const;
  /// Returns the line of a row, handing out pages up to it; -1: it is not shown.
  [[nodiscard]] int lineOf(std::size_t row);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  [[nodiscard]] bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;
  void sort(int column, Qt::SortOrder order) override;

 signals:
  /// Other rows or another order stand.
  void arranged();
  /// Of a table that is sorted elsewhere.
  void sortWanted(int column, Qt::SortOrder order);

 private:
  using Order = std::vector<std::uint32_t>;
  using MaybeOrder = std::optional<Order>;  // nothing: the rows' own, all of them
  struct Arrangement {
    int column = -1;
    Qt::SortOrder direction = Qt::AscendingOrder;
    Filter filter;
    [[nodiscard]] bool sorts(const TableRows& rows) const;
    [[nodiscard]] MaybeOrder of(const TableRows& rows) const;
  };

  void arrange(std::shared_ptr<const TableRows> rows);
  void take(std::shared_ptr<const TableRows> rows, MaybeOrder order);
  [[nodiscard]] std::size_t lines() const;
  [[nodiscard]] std::optional<std::size_t> lineIn(std::size_t row);
  void grow(std::size_t lines);

  std::shared_ptr<const TableRows> rows_;
  MaybeOrder order_;
  std::vector<std::uint32_t> lineOf_;  // by row, of `order_`; made when it is asked for
  std::size_t handedOut_ = 0;
  int page_ = kPage;
  Arrangement wanted_;
  bool sortedElsewhere_ = false;
  BackgroundJob job_;
};

}  // namespace lockstep::ui

#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <QString>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace lockstep::ui {

/// What a table shows. Never changed once made: a long table is sorted on another thread.
class TableRows {
 public:
  struct Column {
    QString title;
    QString tip;          ///< what it means, with its unit
    bool number = false;  ///< sorted by `number`, shown to the right
  };

  TableRows() = default;
  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;
  virtual ~TableRows() = default;

  [[nodiscard]] virtual const std::vector<Column>& columns() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// [any-thread]
  [[nodiscard]] virtual QString text(std::size_t row, std::size_t column) const = 0;
  /// What a number column is sorted by; unknown comes last whichever way. [any-thread]
  [[nodiscard]] virtual std::optional<double> number(std::size_t row, std::size_t column) const = 0;
  /// Says whether a row tells of a difference: it is shown in the colour of warnings.
  [[nodiscard]] virtual bool warns(std::size_t) const { return false; }
};

/// A table of rows, in their own order or sorted by a column. Long tables are handed out in pages
/// while the user scrolls, and sorted on a thread of the pool; the order stands until the new one
/// is known. [ui-thread]
class RowsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kPage = 20'000;

  using QAbstractTableModel::QAbstractTableModel;

  /// Null shows nothing. The sorting stays.
  void setRows(std::shared_ptr<const TableRows> rows);
  [[nodiscard]] const std::shared_ptr<const TableRows>& rows() const { return rows_; }

  /// Returns which of the rows stands in a line.
  [[nodiscard]] std::size_t rowAt(int line) const;
  /// Returns the line of a row, handing out pages up to it.
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
  /// A new order stands.
  void sorted();

 private:
  using Order = std::vector<std::uint32_t>;  // empty: the rows' own
  static Order orderOf(const TableRows& rows, int column, Qt::SortOrder direction);
  void take(Order order);
  void grow(int lines);

  std::shared_ptr<const TableRows> rows_;
  Order order_;
  std::vector<std::uint32_t> lines_;  // by row, of `order_`
  int handedOut_ = 0;
  int sortColumn_ = -1;
  Qt::SortOrder direction_ = Qt::AscendingOrder;
  std::uint64_t ticket_ = 0;  // of the latest sort: an older one's answer is dropped
};

}  // namespace lockstep::ui

#pragma once

#include <QCoreApplication>
#include <QString>
#include <QVariant>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace lockstep::ui {

/// What a table shows: its columns, its cells as people read them, and what they are sorted by.
/// Never changed once made, since a long table is sorted on another thread: news are other rows.
class TableRows {
  Q_DECLARE_TR_FUNCTIONS(TableRows)

 public:
  struct Column {
    QString title;
    QString tip{};                                                   ///< its meaning and unit
    bool number = false;                                             ///< figures, to the right
    bool byNumber = number;                                          ///< sorted by `number`
    Qt::Alignment across = number ? Qt::AlignRight : Qt::AlignLeft;  ///< of the cells
    Qt::Alignment titleAcross = across;
  };

  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;
  virtual ~TableRows() = default;

  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// [any-thread]
  [[nodiscard]] virtual QString text(std::size_t row, std::size_t column) const = 0;
  /// What a column is sorted by that is sorted by numbers; what is unknown or NaN comes last
  /// whichever way. [any-thread]
  [[nodiscard]] virtual std::optional<double> number(std::size_t, std::size_t) const { return {}; }
  /// Says whether a text stands before another in a column that is sorted by texts. [any-thread]
  [[nodiscard]] virtual bool before(const QString& a, const QString& b, std::size_t) const {
    return a < b;
  }

  /// The column by whose numbers rows stand together, whatever else they are sorted by; nothing:
  /// they do not. [any-thread]
  [[nodiscard]] virtual std::optional<std::size_t> groupedBy() const { return {}; }

  /// What is said of a cell under the pointer; empty: nothing. [ui-thread]
  [[nodiscard]] virtual QString tip(std::size_t row, std::size_t column) const {
    return text(row, column);
  }
  /// Colour, mark or font of a cell, by Qt's roles. [ui-thread]
  [[nodiscard]] virtual QVariant look(std::size_t, std::size_t, int) const { return {}; }

  /// Says whether these rows go on with those that the same table showed before (they have as many
  /// columns): then the user's selection and place stay.
  [[nodiscard]] virtual bool continues(const TableRows&) const { return false; }
  /// Where a row of those before stands now; nothing: it is gone. Only asked where these continue
  /// those.
  [[nodiscard]] virtual std::optional<std::size_t> placeOf(const TableRows&,
                                                           std::size_t row) const {
    return row < size() ? std::optional(row) : std::nullopt;
  }

 protected:
  explicit TableRows(std::vector<Column> columns = {}) : columns_(std::move(columns)) {}

  std::vector<Column> columns_;
};

}  // namespace lockstep::ui

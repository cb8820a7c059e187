#pragma once

#include <QColor>
#include <QString>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ui/table/TableView.h"

namespace lockstep::ui {

/// Rows of which every cell was written down beforehand: for tables of few rows. They continue
/// other rows when they begin with these, told by what the first cells say.
class WrittenRows : public TableRows {
 public:
  /// A colour, asked for when the cell is drawn: themes change.
  using Ink = QColor (*)();
  struct Cell {
    QString text;
    std::optional<double> number{};  ///< what it is sorted by, where its column is
    QString tip{};                   ///< empty: its text
    Ink ink = nullptr;               ///< null: as usual
    bool link = false;               ///< underlined: leads somewhere by a click
    Ink ground = nullptr;            ///< behind it; null: as usual
  };
  using Row = std::vector<Cell>;

  explicit WrittenRows(std::vector<Column> columns, std::vector<Row> rows = {})
      : TableRows(std::move(columns)), rows_(std::move(rows)) {}

  [[nodiscard]] std::size_t size() const override { return rows_.size(); }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    return rows_[row][column].text;
  }
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    return rows_[row][column].number;
  }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;
  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override;
  [[nodiscard]] bool before(const QString& a, const QString& b, std::size_t) const override {
    return a.compare(b, Qt::CaseInsensitive) < 0;
  }
  [[nodiscard]] bool continues(const TableRows& before) const override;
  [[nodiscard]] bool isLink(std::size_t row, std::size_t column) const {
    return rows_[row][column].link;
  }

 private:
  std::vector<Row> rows_;
};

/// A table that is as high as its rows, up to `mostRows` of them: for a pane that scrolls as one.
/// [ui-thread]
class LowTable : public TableView {
  Q_OBJECT

 public:
  static constexpr int kAllRows = std::numeric_limits<int>::max();

  LowTable(const QString& name, std::vector<TableRows::Column> columns, int mostRows = kAllRows);

  /// Shows other rows, in columns that are wide enough for them.
  void write(std::vector<WrittenRows::Row> rows);
  /// Takes the height of the rows as they are now.
  void fitHeight();

 signals:
  /// The first cell of a row, which is a link, was clicked, or the row was asked for by Enter.
  void followed(std::size_t row);

 private:
  void follow(std::size_t row);

  std::vector<TableRows::Column> columns_;
  int mostRows_;
};

}  // namespace lockstep::ui

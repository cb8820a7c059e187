#pragma once

#include <functional>
#include <utility>

#include "ui/model/Format.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// Rows of which each column says by itself what its cells are: a class of it names its columns one
/// by one, and then needs to know how many rows there are. [any-thread]
class ColumnRows : public TableRows {
 public:
  using Number = std::function<std::optional<double>(std::size_t row)>;
  using Text = std::function<QString(std::size_t row)>;

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    return cells_[column].text(row);
  }
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    return cells_[column].number ? cells_[column].number(row) : std::nullopt;
  }

 protected:
  /// What a figure that is not known is written as.
  explicit ColumnRows(QString unknown = {}) : unknown_(std::move(unknown)) {}

  /// A column of words; sorted by numbers where it has some.
  void words(Column column, Text text, Number number = {}) {
    column.byNumber = number != nullptr;
    columns_.push_back(std::move(column));
    cells_.push_back({std::move(text), std::move(number)});
  }
  /// A column of figures; `write` is given what is known.
  void figures(Column column, Number number, std::function<QString(double)> write) {
    columns_.push_back(std::move(column));
    cells_.push_back({[number, write = std::move(write), unknown = unknown_](std::size_t row) {
                        const auto figure = number(row);
                        return figure ? write(*figure) : unknown;
                      },
                      number});
  }
  void figures(const QString& title, const QString& tip, Number number,
               std::function<QString(double)> write) {
    figures({title, tip, true}, std::move(number), std::move(write));
  }
  /// How a whole number is written.
  static QString inCount(double count) { return formatCount(static_cast<std::uint64_t>(count)); }

 private:
  struct Cells {
    Text text;
    Number number;
  };

  QString unknown_;
  std::vector<Cells> cells_;
};

}  // namespace lockstep::ui

#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "ui/views/ranks/RanksContent.h"

namespace lockstep::ui {

// Note [Rows of the landscape]
// A thousand ranks have to fit a window, so that a drawn row stands for several that follow each
// other, and a drawn column for several of the table: with the largest value of them, whatever the
// order, so that one cell that stands out is seen. Where ranks that look the same are one row, that
// shows the middle one of them in each column: none of them stands out.

/// One rank in one column of the table.
struct RankPlace {
  std::size_t rank = 0;  ///< index
  std::size_t column = 0;
  bool operator==(const RankPlace&) const = default;
};

/// The landscape as it is drawn: one figure, in an order, folded into the rows and columns that
/// there is room for. Kept from frame to frame, since a fold is a pass over the table.
class RanksMap {
 public:
  /// Does nothing where all is as it was.
  void show(const std::shared_ptr<const RanksContent>& content, RankFigure figure, RankOrder order);
  void fold(std::size_t mostRows, std::size_t mostColumns);

  [[nodiscard]] const RanksContent& content() const { return *content_; }
  [[nodiscard]] RankFigure figure() const { return figure_; }
  [[nodiscard]] RankOrder order() const { return order_; }
  /// All rows, from the top: the ranks of each.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& rows() const { return rows_; }

  // As drawn:
  [[nodiscard]] std::size_t height() const { return height_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  /// NaN: nothing is known there.
  [[nodiscard]] float at(std::size_t y, std::size_t x) const { return cells_[y * width_ + x]; }
  /// The rows, and columns of the table, that a drawn one stands for: up to without the second.
  [[nodiscard]] std::pair<std::size_t, std::size_t> rowsAt(std::size_t y) const;
  [[nodiscard]] std::pair<std::size_t, std::size_t> columnsAt(std::size_t x) const;
  /// The drawn row of a rank, and the drawn column of one of the table.
  [[nodiscard]] std::size_t yOf(std::size_t rank) const;
  [[nodiscard]] std::size_t xOf(std::size_t column) const;
  /// Of all that a drawn cell stands for the place with the largest value.
  [[nodiscard]] RankPlace worstAt(std::size_t y, std::size_t x) const;

 private:
  [[nodiscard]] std::vector<float> valuesOf(const std::vector<std::size_t>& ranks) const;

  std::shared_ptr<const RanksContent> content_;
  RankFigure figure_ = RankFigure::kStep;
  RankOrder order_ = RankOrder::kNumber;
  std::vector<std::vector<std::size_t>> rows_;
  std::vector<std::size_t> rowOf_;  // by rank index
  std::size_t height_ = 0;
  std::size_t width_ = 0;
  std::vector<float> cells_;
};

}  // namespace lockstep::ui

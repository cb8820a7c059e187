#pragma once

#include <algorithm>
#include <cstddef>

#include "ui/chart/TimeAxis.h"

namespace lockstep::ui {

/// What to draw for a stretch of a row: one span, or neighbours too narrow to be told apart.
struct LodItem {
  std::size_t first = 0;
  std::size_t count = 1;
  double left = 0;   ///< px
  double right = 0;  ///< px; of a fold at least kFoldPixels right of `left`
  [[nodiscard]] bool folded() const { return count > 1; }
};

inline constexpr double kFoldPixels = 3;

/// Walks what is visible of one row of spans that are sorted and do not overlap, and calls
/// `draw(LodItem)` from left to right. Spans narrower than 3 px, or as many as are asked for, are
/// folded with the neighbours that end within those pixels; a narrow span with no such neighbour
/// stays single. The cost grows with the pixels and the logarithm of the spans, after Tracy's
/// timeline.
///
/// `Row` answers size(), startNs(i), endNs(i), firstEndingAfter(ns): the first span that ends after
/// a time.
template <typename Row, typename Draw>
void forEachVisible(const Row& row, const TimeAxis& axis, Draw draw,
                    double foldPixels = kFoldPixels) {
  const std::size_t size = row.size();
  const double foldNs = axis.nsPerPixel() * foldPixels;
  std::size_t i = row.firstEndingAfter(axis.startNs());
  while (i < size) {
    const double startNs = row.startNs(i);
    if (startNs > axis.endNs()) {
      return;
    }
    const double endNs = row.endNs(i);
    LodItem item{i, 1, axis.toX(startNs), axis.toX(endNs)};
    if (endNs - startNs < foldNs) {
      const std::size_t next = std::max(row.firstEndingAfter(startNs + foldNs), i + 1);
      item.count = next - i;
      if (item.count > 1) {
        item.right = std::max(axis.toX(row.endNs(next - 1)), item.left + foldPixels);
      }
    }
    draw(item);
    i += item.count;
  }
}

}  // namespace lockstep::ui

#pragma once

#include <QPointF>
#include <QRectF>
#include <algorithm>
#include <cmath>

namespace lockstep::ui {

inline constexpr double kHatchStep = 6;   ///< horizontal distance of the lines
inline constexpr double kHatchWidth = 1.2;

/// Calls `line(from, to)` for each diagonal of a hatched rectangle, rising to the right. The
/// lines hang on the coordinates and not on the rectangle, so that neighbours join.
template <typename Line>
void forEachHatchLine(const QRectF& rect, Line line) {
  // On a line x + y is constant.
  const double first = std::ceil((rect.left() + rect.top()) / kHatchStep) * kHatchStep;
  for (double sum = first; sum < rect.right() + rect.bottom(); sum += kHatchStep) {
    const double lowX = std::max(rect.left(), sum - rect.bottom());
    const double highX = std::min(rect.right(), sum - rect.top());
    if (highX > lowX) {
      line(QPointF(lowX, sum - lowX), QPointF(highX, sum - highX));
    }
  }
}

}  // namespace lockstep::ui

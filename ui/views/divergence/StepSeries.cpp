#include "ui/views/divergence/StepSeries.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {

StepSeries::StepSeries(int rank, std::vector<SeriesPoint> points) : rank_(rank) {
  std::ranges::stable_sort(points, {}, &SeriesPoint::step);
  // Before they are taken out: the lines are of finite values alone.
  for (const SeriesPoint& point : points) {
    if (!std::isfinite(point.value)) {
      notFinite_ = point.step;
      break;
    }
  }
  std::erase_if(points, [](const SeriesPoint& point) { return !std::isfinite(point.value); });
  // Neighbours in groups of that size, so that there are at most kPieces.
  const std::size_t each = (points.size() + kPieces - 1) / kPieces;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto value = static_cast<float>(points[i].value);
    if (i % each == 0) {
      pieces_.push_back({points[i].step, points[i].step, value, value, value, value});
      continue;
    }
    Piece& piece = pieces_.back();
    piece.least = std::min(piece.least, value);
    piece.most = std::max(piece.most, value);
    piece.lastStep = points[i].step;
    piece.last = value;
  }
}

std::optional<double> StepSeries::at(std::uint32_t step) const {
  const auto behind = std::ranges::upper_bound(pieces_, step, {}, &Piece::step);
  if (behind == pieces_.begin()) {
    return std::nullopt;
  }
  const Piece& piece = *std::prev(behind);
  return step < piece.lastStep ? piece.first : piece.last;
}

}  // namespace lockstep::ui

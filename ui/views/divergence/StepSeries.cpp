#include "ui/views/divergence/StepSeries.h"

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

StepSeries::Piece joined(const StepSeries::Piece& a, const StepSeries::Piece& b) {
  return {a.step,  b.lastStep, std::min(a.least, b.least), std::max(a.most, b.most),
          a.first, b.last};
}

}  // namespace

StepSeries::StepSeries(int rank, std::vector<SeriesPoint> points) : rank_(rank) {
  std::ranges::stable_sort(points, {}, &SeriesPoint::step);
  for (const SeriesPoint& point : points) {
    add(point);
  }
}

bool StepSeries::add(const SeriesPoint& point) {
  if (!std::isfinite(point.value)) {
    notFinite_ = std::min(notFinite_.value_or(point.step), point.step);
    return true;
  }
  if (!pieces_.empty() && point.step < pieces_.back().lastStep) {
    return false;
  }
  const auto value = static_cast<float>(point.value);
  const Piece alone{point.step, point.step, value, value, value, value};
  if (!pieces_.empty() && inLast_ < each_) {
    pieces_.back() = joined(pieces_.back(), alone);
    inLast_ += 1;
    return true;
  }
  if (pieces_.size() == kPieces) {
    // Two neighbours become one, in which there is room for as many again.
    for (std::size_t i = 0; i < kPieces / 2; ++i) {
      pieces_[i] = joined(pieces_[2 * i], pieces_[2 * i + 1]);
    }
    pieces_.resize(kPieces / 2);
    each_ *= 2;
  }
  pieces_.push_back(alone);
  inLast_ = 1;
  return true;
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

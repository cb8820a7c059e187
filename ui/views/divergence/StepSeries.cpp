#include "ui/views/divergence/StepSeries.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::ui {
namespace {

StepSeries::Piece joined(const StepSeries::Piece& a, const StepSeries::Piece& b) {
  return {a.step,  b.lastStep, std::min(a.least, b.least), std::max(a.most, b.most),
          a.first, b.last};
}

}  // namespace

std::size_t StepSeries::Pieces::firstFrom(std::uint64_t step) const {
  const std::size_t first =
      run::firstWhere(whole_, [step](const Piece& piece) { return piece.step >= step; });
  return first == whole_.size() && any_ && last_.step < step ? first + 1 : first;
}

void StepSeries::Pieces::push_back(const Piece& piece) {
  if (any_) {
    whole_.push_back(last_);
  }
  last_ = piece;
  any_ = true;
}

void StepSeries::Pieces::joinLast(const Piece& piece) {
  last_ = joined(last_, piece);
}

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
    pieces_.joinLast(alone);
    inLast_ += 1;
    return true;
  }
  if (pieces_.size() == kPieces) {
    // Two neighbours become one, in which there is room for as many again.
    Pieces halves;
    for (std::size_t i = 0; i < kPieces / 2; ++i) {
      halves.push_back(joined(pieces_[2 * i], pieces_[2 * i + 1]));
    }
    pieces_ = std::move(halves);
    each_ *= 2;
  }
  pieces_.push_back(alone);
  inLast_ = 1;
  return true;
}

std::optional<double> StepSeries::at(std::uint32_t step) const {
  const std::size_t behind = pieces_.firstFrom(std::uint64_t{step} + 1);
  if (behind == 0) {
    return std::nullopt;
  }
  const Piece& piece = pieces_[behind - 1];
  return step < piece.lastStep ? piece.first : piece.last;
}

}  // namespace lockstep::ui

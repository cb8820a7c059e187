#include "ui/views/timeline/layers/TimeMarks.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Ticks.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kLeastTimeDistance = 90;  // px between labelled times
constexpr double kBoxedFrom = 30;          // px of an iteration that gets a box of its own

}  // namespace

TimeMarks::TimeMarks(const TimelineSight& sight)
    : axis_(sight.axis), distance_(kLeastTimeDistance) {
  // Far into a run the labels are long; they never touch.
  const QString longest = label(axis_.endNs(), stepNs());
  distance_ = std::max(distance_, textWidth(longest, FontRole::kSmall) + 24);
  // The iterations of the first rank that has any: all ranks go through them together, nearly.
  for (int rank = 0; rank < sight.model.rankCount(); ++rank) {
    const Lane* lane = sight.model.lane(laneId(rank, LaneRole::kPhases));
    if (lane != nullptr && !lane->rows.empty() && !lane->rows[0].empty()) {
      findIterations(sight.model, rank, lane->rows[0]);
      return;
    }
  }
}

QString TimeMarks::label(double ns, double stepNs) const {
  return formatTime(ns, stepNs, std::max(std::abs(axis_.startNs()), std::abs(axis_.endNs())));
}

void TimeMarks::findIterations(const RunModel& model, int rank, const run::SpanStore& steps) {
  const std::size_t from = steps.firstEndingAfter(model.toTicks(axis_.startNs()));
  const std::size_t to = steps.firstStartingAt(model.toTicks(axis_.endNs()) + 1);
  if (from >= to) {
    return;
  }
  // By the mean length of those in sight. Where they are too narrow, every k-th has its number, k
  // being 1, 2 or 5 times a power of ten and the numbers multiples of k: so the same ones stay
  // marked while the timeline is moved.
  const double nsEach = (model.toNs(steps.endAt(to - 1)) - model.toNs(steps.startAt(from))) /
                        static_cast<double>(to - from);
  const double pixelsEach = std::max(nsEach / axis_.nsPerPixel(), 1e-6);
  std::uint32_t first = steps.at(from).step;
  std::uint32_t stride = 1;
  if (pixelsEach < kBoxedFrom) {
    stride = static_cast<std::uint32_t>(std::max(1.0, roundStep(kNumberDistance / pixelsEach)));
    first = (first + stride - 1) / stride * stride;
  }
  boxed_ = stride == 1;
  for (std::uint32_t n = first; n <= steps.at(to - 1).step; n += stride) {
    if (const auto step = model.step(rank, n)) {
      iterations_.push_back(*step);
    }
  }
}

}  // namespace lockstep::ui

#include "engine/trace/ClockOffset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lockstep::trace {
std::string text(const ClockOffset& offset) {
  constexpr std::int64_t kLongNs = 10'000'000'000;
  const auto ns = static_cast<double>(offset.offsetNs);
  const double half = static_cast<double>(offset.uncertaintyNs) / 1e6;
  return std::abs(offset.offsetNs) < kLongNs ? fmt::format("{:+.3f} ms ± {:.3f} ms", ns / 1e6, half)
                                             : fmt::format("{:+.6f} s ± {:.3f} ms", ns / 1e9, half);
}

// Note [Intervals and anchors]
//
// Each exchange gives an interval that holds the offset, known_ is the intersection of all of them.
// With offsets in µs, drift left aside:
//
//   exchange    t2 - t3    t1 - t0    known_
//   1           -40        +90        -40 .. +90
//   2           +10        +300       +10 .. +90      slow there, quick back: raises the lower end
//   3           -200       +30        +10 .. +30      quick there: lowers the upper one
//
// No exchange has to be quick both ways. As clocks drift apart, what was known an hour ago is wider
// today: each interval grows by driftPpm for the time since.
//
// For a file, one clock has to place the events of a whole run. So known_ is remembered now and
// then, as anchors: by 10 ms at first; when there are too many every second one is dropped and the
// spacing doubles, which keeps them spread over all of the run. A line through them gives the
// drift, and its largest distance from their bounds the uncertainty.
ClockOffsetEstimator::Interval ClockOffsetEstimator::widened(const Interval& interval,
                                                             std::int64_t atNs) const {
  const double drift =
      std::abs(static_cast<double>(atNs - interval.atNs)) * options_.driftPpm / 1e6;
  return {atNs, interval.lowNs - drift, interval.highNs + drift};
}

ClockOffsetEstimator::Taken ClockOffsetEstimator::add(const PingSample& sample) {
  if (sample.receivedNs < sample.sentNs || sample.answeredThereNs < sample.receivedThereNs) {
    return Taken::kImpossible;
  }
  // The upper bound holds from t0 on and the lower one until t3; both are moved to t3.
  const Interval seen =
      widened({sample.sentNs, static_cast<double>(sample.answeredThereNs - sample.receivedNs),
               static_cast<double>(sample.receivedThereNs - sample.sentNs)},
              sample.receivedNs);
  if (seen.lowNs > seen.highNs) {
    return Taken::kImpossible;  // longer there than the round trip took here
  }
  if (!known_) {
    known_ = seen;
    keepAnchor();
    return Taken::kYes;
  }
  const Interval before = widened(*known_, sample.receivedNs);
  const Interval both{sample.receivedNs, std::max(before.lowNs, seen.lowNs),
                      std::min(before.highNs, seen.highNs)};
  const bool consistent = both.lowNs <= both.highNs;
  if (!consistent) {
    ++restarts_;
    anchors_.clear();
  }
  // An empty intersection means that an assumption was broken: what was known before is void.
  known_ = consistent ? both : seen;
  keepAnchor();
  return consistent ? Taken::kYes : Taken::kStartedAnew;
}

std::optional<ClockOffset> ClockOffsetEstimator::at(std::int64_t nowNs) const {
  if (!known_) {
    return std::nullopt;
  }
  const Interval now = widened(*known_, nowNs);
  const std::int64_t offset = std::llround(now.middle());
  return ClockOffset{offset, static_cast<std::int64_t>(std::ceil(now.half() + 0.5))};
}

// The anchors are what was known at times apart from each other. The last one is what is known now:
// it is replaced until the next one is due.
void ClockOffsetEstimator::keepAnchor() {
  if (anchors_.empty()) {
    spacingNs_ = options_.anchorEveryNs;
  }
  // The newest anchor goes on getting better until the next one is due.
  const bool replace =
      anchors_.size() >= 2 && known_->atNs - anchors_[anchors_.size() - 2].atNs < spacingNs_;
  if (replace) {
    anchors_.back() = *known_;
    return;
  }
  anchors_.push_back(*known_);
  if (anchors_.size() > std::max<std::size_t>(options_.anchors, 3)) {
    std::vector<Interval> kept;
    for (std::size_t i = 0; i < anchors_.size(); i += 2) {
      kept.push_back(anchors_[i]);
    }
    // The first and the last always stay: between them lies all that was seen.
    if (anchors_.size() % 2 == 0) {
      kept.push_back(anchors_.back());
    }
    anchors_ = std::move(kept);
    spacingNs_ *= 2;
  }
}

// Each anchor knew the exchanges before it; what the later ones found holds for it, too, widened by
// the time between.
std::vector<ClockOffsetEstimator::Interval> ClockOffsetEstimator::anchorsBySight() const {
  // From the last back to the first, since each may be narrowed by all that come after it.
  std::vector<Interval> anchors = anchors_;
  for (std::size_t i = anchors.size(); i-- > 1;) {
    const Interval later = widened(anchors[i], anchors[i - 1].atNs);
    anchors[i - 1].lowNs = std::max(anchors[i - 1].lowNs, later.lowNs);
    anchors[i - 1].highNs = std::min(anchors[i - 1].highNs, later.highNs);
  }
  return anchors;
}

// By least squares, each anchor as heavy as it is sharp. 0 while the anchors allow any drift that
// the bound allows: a slope made of their jitter would be worse than none.
double ClockOffsetEstimator::drift(const std::vector<Interval>& anchors) const {
  const Interval& first = anchors.front();
  const Interval& last = anchors.back();
  const auto apart = static_cast<double>(last.atNs - first.atNs);
  const double bound = options_.driftPpm / 1e6;
  if (first.half() + last.half() >= bound * apart) {
    return 0;
  }
  double weights = 0;
  double meanTime = 0;
  double meanOffset = 0;
  const auto weightOf = [](const Interval& anchor) {
    // One ns at least: an interval of no width would outweigh all others by infinity.
    const double half = std::max(anchor.half(), 1.0);
    return 1 / (half * half);
  };
  const auto timeOf = [&](const Interval& anchor) {
    return static_cast<double>(anchor.atNs - first.atNs);
  };
  const auto offsetOf = [&](const Interval& anchor) { return anchor.middle() - first.middle(); };
  for (const Interval& anchor : anchors) {
    weights += weightOf(anchor);
    meanTime += weightOf(anchor) * timeOf(anchor);
    meanOffset += weightOf(anchor) * offsetOf(anchor);
  }
  meanTime /= weights;
  meanOffset /= weights;
  double both = 0;
  double squares = 0;
  for (const Interval& anchor : anchors) {
    const double time = timeOf(anchor) - meanTime;
    both += weightOf(anchor) * time * (offsetOf(anchor) - meanOffset);
    squares += weightOf(anchor) * time * time;
  }
  return std::clamp(both / squares, -bound, bound);
}

std::optional<HostClock> ClockOffsetEstimator::clock(const base::ClockCalibration& there) const {
  if (!known_) {
    return std::nullopt;
  }
  const std::vector<Interval> anchors = anchorsBySight();
  const double slope = drift(anchors);
  // All anchors moved along the slope to now: the middle between the outermost bounds is off by
  // half of their distance at most.
  double low = known_->lowNs;
  double high = known_->highNs;
  for (const Interval& anchor : anchors) {
    const double moved = slope * static_cast<double>(known_->atNs - anchor.atNs);
    low = std::min(low, anchor.lowNs + moved);
    high = std::max(high, anchor.highNs + moved);
  }
  // The calibration's origin is moved to now, where the offset holds. From there the drift, as part
  // of ns_per_tick, leads to the ticks before and after.
  HostClock clock;
  clock.offset.offsetNs = std::llround((low + high) / 2);
  clock.offset.uncertaintyNs = static_cast<std::int64_t>(std::ceil((high - low) / 2 + 0.5));
  // There, the ns since now pass (1 + slope) times as fast as here.
  const std::int64_t nowThere = known_->atNs + clock.offset.offsetNs;
  const double sinceOrigin = static_cast<double>(nowThere - there.originNs) / there.nsPerTick;
  clock.calibration.originTicks =
      there.originTicks + static_cast<std::uint64_t>(std::llround(sinceOrigin));
  clock.calibration.originNs = there.toNs(clock.calibration.originTicks);
  clock.calibration.nsPerTick = there.nsPerTick / (1 + slope);
  return clock;
}

}  // namespace lockstep::trace

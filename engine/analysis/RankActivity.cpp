#include "engine/analysis/RankActivity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/analysis/SpansByRank.h"
#include "engine/base/InHalves.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/DeviceTimed.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

Intervals inTheMiddle(const std::vector<CoreWait>& waits) {
  std::vector<Interval> pieces;
  pieces.reserve(waits.size());
  for (const CoreWait& wait : waits) {
    const std::uint64_t begin =
        wait.window.begin + (wait.window.end - wait.window.begin - wait.ticks) / 2;
    pieces.push_back({begin, begin + wait.ticks});
  }
  return unite(std::move(pieces));
}

std::vector<CoreWait>::const_iterator firstWaitIn(const RankActivity& activity,
                                                  const Interval& window) {
  return std::partition_point(
      activity.coreWaits.begin(), activity.coreWaits.end(),
      [&](const CoreWait& wait) { return wait.window.end <= window.begin; });
}

}  // namespace

Counted countedAs(const SpanRow& span) {
  const std::uint32_t traits = run::factsOf(span.kind).traits;
  // A hook's phase without a bucket is around the step, which waits for it.
  const bool around = span.kind == EventKind::kHookCommunicate && span.bucket == trace::kNoBucket;
  return {(traits & run::kInFlight) != 0, (traits & run::kWork) != 0,
          (traits & run::kService) != 0 || around, (traits & run::kAside) != 0};
}

double waitRate(double nsPerTick) {
  int exponent = 0;
  const double fraction = std::frexp(nsPerTick, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 20)), exponent - 20);
}

bool ActivityPieces::add(const SpanRow& span, double nsPerTick) {
  const Interval interval{span.startTicks, span.startTicks + span.durationTicks};
  const Counted counted = countedAs(span);
  const bool byDevice =
      run::has(span.kind, run::kByDevice) && (span.detail & trace::kByDevice) != 0;
  const bool kernel = span.kind == EventKind::kKernels;
  const bool gradient = span.kind == EventKind::kGradientReady;
  const bool wait = span.kind == EventKind::kOffCore && span.durationTicks > 0;
  // These have all that was before counted in another way.
  const bool turns = (counted.work && byDevice && !computesOnDevice_) || (kernel && !hasKernels_);
  computesOnDevice_ = computesOnDevice_ || (counted.work && byDevice);
  hasKernels_ = hasKernels_ || kernel;
  if (counted.inFlight) {
    inFlight_.push_back(interval);
  }
  if (counted.work) {
    (span.kind == EventKind::kBackward && !byDevice ? backward_ : work_).push_back(interval);
  }
  if (counted.service) {
    (byDevice ? serviceOfDevice_ : service_).push_back(interval);
  }
  if (counted.aside) {
    aside_.push_back(interval);
  }
  if (kernel) {
    kernels_.push_back(interval);
  }
  if (gradient) {
    gradients_.push_back(span.startTicks);
  }
  if (wait) {
    const auto ticks =
        static_cast<std::uint64_t>(static_cast<double>(span.value) / waitRate(nsPerTick));
    coreWaits_.push_back({interval, std::min(ticks, span.durationTicks)});
  }
  const bool any = counted.inFlight || counted.work || counted.service || counted.aside || kernel ||
                   gradient || wait;
  return before_ == 0 || !any || (span.startTicks >= before_ && !turns);
}

/// Ends each backward with its last gradient.
std::vector<Interval> ActivityPieces::allWork() const {
  std::vector<std::uint64_t> gradients = gradients_;
  std::sort(gradients.begin(), gradients.end());
  std::vector<Interval> work = work_;
  for (Interval backward : backward_) {
    const auto after = std::upper_bound(gradients.begin(), gradients.end(), backward.end);
    if (after != gradients.begin() && *(after - 1) >= backward.begin) {
      backward.end = *(after - 1);
    }
    work.push_back(backward);
  }
  return work;
}

RankActivity ActivityPieces::activity(int rank) const {
  RankActivity activity;
  activity.rank = rank;
  activity.inFlight = unite(inFlight_);
  if (hasKernels_) {
    activity.computing = unite(kernels_);
    return activity;
  }
  // What the host does meanwhile does not keep a device from computing.
  Intervals own =
      subtract(unite(allWork()), unite(computesOnDevice_ ? serviceOfDevice_ : service_));
  if (!computesOnDevice_ && !coreWaits_.empty()) {
    activity.coreWaits = coreWaits_;
    std::sort(activity.coreWaits.begin(), activity.coreWaits.end(),
              [](const CoreWait& a, const CoreWait& b) { return a.window.begin < b.window.begin; });
    activity.offCore = intersect(own, inTheMiddle(activity.coreWaits));
    own = subtract(own, activity.offCore);
  }
  if (!aside_.empty()) {
    own.insert(own.end(), aside_.begin(), aside_.end());
    own = unite(std::move(own));
    activity.offCore = subtract(activity.offCore, own);
  }
  activity.computing = std::move(own);
  return activity;
}

void ActivityPieces::forget(std::uint64_t before) {
  before_ = std::max(before_, before);
  const auto drop = [&](std::vector<Interval>& pieces) {
    std::erase_if(pieces, [&](const Interval& piece) { return piece.end <= before_; });
  };
  for (auto* pieces :
       {&inFlight_, &work_, &backward_, &service_, &serviceOfDevice_, &kernels_, &aside_}) {
    drop(*pieces);
  }
  std::erase_if(coreWaits_, [&](const CoreWait& wait) { return wait.window.end <= before_; });
  std::uint64_t needed = before_;  // gradients that may end a backward that is still needed
  for (const Interval& backward : backward_) {
    needed = std::min(needed, backward.begin);
  }
  std::erase_if(gradients_, [&](std::uint64_t ticks) { return ticks < needed; });
}

std::vector<RankActivity> rankActivity(const RunData& data) {
  const SpansByRank spans(data);
  std::vector<RankActivity> all(spans.size());
  base::inHalves(spans.size(), 2, [&](std::size_t from, std::size_t to) {
    for (std::size_t place = from; place < to; ++place) {
      ActivityPieces pieces;
      spans.eachOf(
          place, [](EventKind) { return true; }, 0,
          [&](const SpanRow& span) { pieces.add(span, data.clock.nsPerTick); });
      all[place] = pieces.activity(spans.rank(place));
    }
  });
  return all;
}

double coreWaitTicks(const RankActivity& activity, const Interval& window) {
  double ticks = 0;
  for (auto wait = firstWaitIn(activity, window);
       wait != activity.coreWaits.end() && wait->window.begin < window.end; ++wait) {
    const std::uint64_t begin = std::max(wait->window.begin, window.begin);
    const std::uint64_t end = std::min(wait->window.end, window.end);
    ticks += static_cast<double>(wait->ticks) * static_cast<double>(end - begin) /
             static_cast<double>(wait->window.end - wait->window.begin);
  }
  return ticks;
}

// Begins with the overlap as if no core had ever been missing, and takes from it what each wait
// must or can have cost. Of a wait's window, `hit` ticks are work in flight and `beside` ticks are
// not. With a wait of 3 ticks, a hit of 4 and 2 beside: at least 1 tick of the wait lay in the hit
// (`most` falls by 3 - 2), at most all 3 did (`least` falls by 3).
OverlapBounds overlapBounds(const RankActivity& activity, const Interval& window) {
  const Intervals flying = clip(activity.inFlight, window);
  const std::uint64_t computing = length(intersect(flying, clip(activity.computing, window)));
  const Intervals offCore = intersect(flying, clip(activity.offCore, window));
  OverlapBounds bounds{computing + length(offCore), computing + length(offCore)};
  const auto first =
      std::partition_point(activity.coreWaits.begin(), activity.coreWaits.end(),
                           [&](const CoreWait& wait) { return wait.window.end <= window.begin; });
  for (auto wait = first; wait != activity.coreWaits.end() && wait->window.begin < window.end;
       ++wait) {
    // Of the window, what is work and in flight: the wait may lie in it or beside it.
    const std::uint64_t hit =
        length(intersect(clip(flying, wait->window), clip(activity.computing, wait->window))) +
        length(clip(offCore, wait->window));
    const std::uint64_t beside = wait->window.end - wait->window.begin - hit;
    bounds.least -= std::min({wait->ticks, hit, bounds.least});
    bounds.most -= wait->ticks > beside ? std::min(wait->ticks - beside, bounds.most) : 0;
  }
  return bounds;
}

}  // namespace lockstep::analysis

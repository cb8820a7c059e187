#include "engine/analysis/BucketLife.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/run/Calls.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using Ticks = std::optional<std::uint64_t>;

void earliest(Ticks& at, std::uint64_t ticks) {
  at = std::min(at.value_or(ticks), ticks);
}
void latest(Ticks& at, std::uint64_t ticks) {
  at = std::max(at.value_or(ticks), ticks);
}

/// What ranks meet in: two are at the same one when these are equal.
struct Meeting {
  std::uint16_t operation = 0;  ///< with its group, as packOperation says
  run::Call call;
  bool operator==(const Meeting&) const = default;
};

/// One rank's bucket while its spans are gathered.
struct GatheredBucket {
  BucketTimes times;
  Ticks collectiveTicks;           // start of the first collective proper
  std::optional<Meeting> meeting;  // its
};

void addGradients(const ReadyOrder& order, std::vector<GatheredBucket>& buckets) {
  for (const ReadyGradient& gradient : order.gradients) {
    if (gradient.bucket < buckets.size()) {
      BucketTimes& times = buckets[gradient.bucket].times;
      earliest(times.firstGradientTicks, gradient.ticks);
      times.lastGradientTicks = gradient.ticks;  // they come by time
      times.lastParameter = gradient.parameter;
    }
  }
}

void addSpan(const trace::SpanRow& span, GatheredBucket& bucket) {
  BucketTimes& times = bucket.times;
  const std::uint64_t endTicks = span.startTicks + span.durationTicks;
  switch (span.kind) {
    case EventKind::kBucketReady:
      times.readyTicks = span.startTicks;
      times.readySpan = span.id;
      break;
    case EventKind::kBucketLaunched:
      times.launchedTicks = span.startTicks;
      times.launchedSpan = span.id;
      break;
    // A check goes before its collective, and ranks wait for each other in it: the bucket's
    // communication begins there. What its ranks meet in is the collective proper.
    case EventKind::kChecked:
      earliest(times.beganTicks, span.startTicks);
      break;
    case EventKind::kCollective:
      earliest(times.beganTicks, span.startTicks);
      latest(times.endedTicks, endTicks);
      if (!bucket.collectiveTicks || span.startTicks < *bucket.collectiveTicks) {
        bucket.collectiveTicks = span.startTicks;
        bucket.meeting = {span.detail, *run::callOf(span.kind, span.detail, span.value)};
        times.collectiveSpan = span.id;
      }
      break;
    case EventKind::kShaped:
      latest(times.backendEndedTicks, span.startTicks);
      latest(times.endedTicks, endTicks);
      break;
    case EventKind::kCopyOut:
      earliest(times.copyOutTicks, span.startTicks);
      latest(times.copiedOutTicks, endTicks);
      times.copyOutSpan = span.id;
      break;
    default:
      break;
  }
}

/// Names the earlier bucket that became ready last, where it came after this one.
void findStalls(std::vector<GatheredBucket>& buckets) {
  std::optional<std::size_t> slowest;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    BucketTimes& times = buckets[b].times;
    if (!times.readyTicks) {
      continue;
    }
    // `slowest` is the latest of all buckets in front. A bucket that was ready before it had to
    // wait for it; one that was ready after it is the new latest. With ready times 5, 9, 7, 8,
    // buckets 2 and 3 are both stalled by bucket 1, and bucket 3 not by bucket 2.
    if (slowest && *buckets[*slowest].times.readyTicks > *times.readyTicks) {
      times.stalledBehind = static_cast<std::uint16_t>(*slowest);
    } else {
      slowest = b;
    }
  }
}

/// Names the bucket whose communication ended last between this one's launch and its begin.
void findQueues(std::vector<GatheredBucket>& buckets) {
  for (GatheredBucket& bucket : buckets) {
    BucketTimes& times = bucket.times;
    if (!times.launchedTicks || !times.beganTicks) {
      continue;
    }
    std::uint64_t endedTicks = *times.launchedTicks;
    for (std::size_t k = 0; k < buckets.size(); ++k) {
      const BucketTimes& other = buckets[k].times;
      // Two that are in flight at once do not hold each other up: the other must have begun no
      // later and ended before this one began. Of those, the one that ended last let this one go.
      if (&other != &times && other.beganTicks && other.endedTicks &&
          *other.beganTicks <= *times.beganTicks && *other.endedTicks <= *times.beganTicks &&
          *other.endedTicks > endedTicks) {
        endedTicks = *other.endedTicks;
        times.queuedBehind = static_cast<std::uint16_t>(k);
      }
    }
  }
}

void findMeeting(BucketLife& life, const std::vector<std::optional<Meeting>>& meetings,
                 const RankClocks& clocks) {
  for (std::size_t r = 0; r < life.ranks.size(); ++r) {
    const BucketTimes& times = life.ranks[r];
    if (!times.beganTicks || !meetings[r] || !run::isOfAll(meetings[r]->operation) ||
        *meetings[r] != *meetings[0]) {
      life.metTicks.reset();
      life.lastRank.reset();
      return;
    }
    if (!life.metTicks || *times.beganTicks > *life.metTicks) {
      life.metTicks = times.beganTicks;
      life.lastRank = times.rank;
    }
  }
  if (life.ranks.size() < 2) {
    life.lastRank.reset();
    return;
  }
  // The one that looks last is not known to be, where any other came within the doubt of their
  // clocks. The time at which all had come is right to within that doubt, and stays.
  const int last = *life.lastRank;
  for (const BucketTimes& times : life.ranks) {
    const auto earlierNs =
        static_cast<double>(*life.metTicks - *times.beganTicks) * clocks.nsPerTick;
    const std::int64_t doubtNs = clocks.doubt.betweenNs(times.rank, last);
    if (doubtNs > 0 && earlierNs <= static_cast<double>(doubtNs)) {
      life.lastRank.reset();
    }
  }
}

}  // namespace

BucketStage BucketTimes::stageAt(std::uint64_t ticks) const {
  const auto past = [ticks](const Ticks& at) { return at && *at <= ticks; };
  if (past(endedTicks)) {
    return BucketStage::kDone;
  }
  if (past(beganTicks)) {
    return BucketStage::kInFlight;
  }
  if (past(launchedTicks)) {
    return BucketStage::kLaunched;
  }
  if (past(readyTicks)) {
    return BucketStage::kReady;
  }
  return past(firstGradientTicks) ? BucketStage::kFilling : BucketStage::kEmpty;
}

std::uint64_t BucketTimes::stallTicks() const {
  const bool known = stalledBehind && readyTicks && launchedTicks && *launchedTicks > *readyTicks;
  return known ? *launchedTicks - *readyTicks : 0;
}

std::vector<BucketLife> bucketLives(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                    const trace::BucketsMessage& layout,
                                    const std::vector<ReadyOrder>& orders,
                                    const RankClocks& clocks) {
  std::vector<BucketLife> lives(layout.buckets.size());
  std::vector<std::vector<std::optional<Meeting>>> meetings(layout.buckets.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::vector<GatheredBucket> buckets(layout.buckets.size());
    addGradients(orders[r], buckets);
    // A bucket number beyond the layout is of another one: the step is that of a rebuild.
    for (const trace::SpanRow& span : ranks[r].spans) {
      if (span.step == step && span.bucket < buckets.size()) {
        addSpan(span, buckets[span.bucket]);
      }
    }
    findStalls(buckets);
    findQueues(buckets);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      buckets[b].times.rank = ranks[r].rank;
      meetings[b].push_back(buckets[b].meeting);
      lives[b].ranks.push_back(std::move(buckets[b].times));
    }
  }
  for (std::size_t b = 0; b < lives.size(); ++b) {
    findMeeting(lives[b], meetings[b], clocks);
  }
  return lives;
}

std::optional<GradientWait> waitOf(const ReadyGradient& gradient, const BucketTimes& bucket) {
  if (!bucket.launchedTicks || *bucket.launchedTicks < gradient.ticks) {
    return std::nullopt;
  }
  GradientWait wait;
  wait.ticks = *bucket.launchedTicks - gradient.ticks;
  if (bucket.lastParameter && *bucket.lastParameter != gradient.parameter) {
    wait.forParameter = bucket.lastParameter;
  }
  wait.forBucket = bucket.stalledBehind;
  return wait;
}

std::vector<ReplayMoment> replayMoments(const std::vector<ReadyOrder>& orders,
                                        const std::vector<BucketLife>& lives) {
  using What = ReplayMoment::What;
  std::vector<ReplayMoment> moments;
  for (const ReadyOrder& order : orders) {
    for (const ReadyGradient& gradient : order.gradients) {
      moments.push_back(
          {gradient.ticks, What::kGradient, order.rank, gradient.bucket, gradient.parameter});
    }
  }
  for (std::size_t b = 0; b < lives.size(); ++b) {
    for (const BucketTimes& times : lives[b].ranks) {
      const auto add = [&](const Ticks& ticks, What what) {
        if (ticks) {
          moments.push_back({*ticks, what, times.rank, static_cast<std::uint16_t>(b), 0});
        }
      };
      add(times.readyTicks, What::kReady);
      add(times.launchedTicks, What::kLaunched);
      add(times.beganTicks, What::kBegan);
      add(times.endedTicks, What::kEnded);
    }
  }
  // Stable: of one moment, a gradient comes before the bucket that it makes ready.
  std::stable_sort(moments.begin(), moments.end(),
                   [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  return moments;
}

}  // namespace lockstep::analysis

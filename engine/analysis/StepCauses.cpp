#include "engine/analysis/StepCauses.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/analysis/Intervals.h"
#include "engine/analysis/RankActivity.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

/// A stretch of time and what it is due to, if nothing before it claims it.
struct Claim {
  int order = 0;  ///< lower goes first
  Interval time;
  CauseKey key;
};

// The order of claims. A collective whose last rank is known goes before the bare span of one: the
// span stands for it only where a rank has no record. Work of a hook and the delay of a launch get
// what no flight took.
constexpr int kKnownFlight = 0;
constexpr int kUnknownFlight = 1;
constexpr int kHookWork = 2;
constexpr int kDelay = 3;

/// One measured step with what may have a claim on it.
struct Window {
  StepTicks step;
  std::vector<Claim> claims;
};

/// The steps of one rank, one after the other.
using Windows = std::vector<Window>;

// A claim that reaches into the next step goes to both windows; each takes its own part.
void give(Windows& windows, const Claim& claim) {
  auto at = std::upper_bound(
      windows.begin(), windows.end(), claim.time.begin,
      [](std::uint64_t ticks, const Window& window) { return ticks < window.step.endTicks; });
  for (; at != windows.end() && at->step.startTicks < claim.time.end; ++at) {
    at->claims.push_back(claim);
  }
}

/// When a bucket was ready and when the first of its collectives began, on one rank in one step.
struct Launch {
  std::uint64_t readyTicks = 0;
  std::uint64_t beginTicks = 0;  ///< 0: none has
};
using LaunchKey = std::tuple<int, std::uint32_t, std::uint16_t>;

class CauseGathering {
 public:
  explicit CauseGathering(const RunAnalysis& run) {
    for (const StepTicks& step : run.stepRows) {
      if (step.step >= run.warmUp.firstMeasured && !step.incomplete) {
        ranks_[step.rank].push_back({step, {}});
      }
    }
    for (const CollectiveTimes& collective : run.collectives) {
      add(collective);
    }
  }

  void add(int rank, const SpanRow& span) {
    const auto windows = ranks_.find(rank);
    if (windows == ranks_.end()) {
      return;
    }
    const Interval time{span.startTicks, span.startTicks + span.durationTicks};
    if (countedAs(span).inFlight) {
      give(windows->second, {kUnknownFlight, time, {Cause::kCommunicating, span.bucket, -1}});
    }
    switch (span.kind) {
      case EventKind::kCollective:
        noteBegin(rank, span);
        break;
      case EventKind::kHookEncode:
        give(windows->second, {kHookWork, time, {Cause::kEncode, span.bucket, -1}});
        break;
      case EventKind::kHookDecode:
        give(windows->second, {kHookWork, time, {Cause::kDecode, span.bucket, -1}});
        break;
      case EventKind::kBucketReady:
        // The delay is known once the bucket's first collective is, which may come later in the
        // file.
        launches_[{rank, span.step, span.bucket}].readyTicks = span.startTicks;
        break;
      default:
        break;
    }
  }

  std::map<int, Windows>& finish() {
    for (const auto& [key, launch] : launches_) {
      const auto& [rank, step, bucket] = key;
      const auto windows = ranks_.find(rank);
      if (windows != ranks_.end() && launch.readyTicks != 0 &&
          launch.beginTicks > launch.readyTicks) {
        give(windows->second,
             {kDelay, {launch.readyTicks, launch.beginTicks}, {Cause::kLaunchDelay, bucket, -1}});
      }
    }
    return ranks_;
  }

 private:
  void add(const CollectiveTimes& collective) {
    for (const Arrival& arrival : collective.arrivals) {
      const auto windows = ranks_.find(arrival.rank);
      if (windows == ranks_.end()) {
        continue;
      }
      if (!collective.complete) {
        give(windows->second, {kUnknownFlight,
                               {arrival.startTicks, arrival.endTicks},
                               {Cause::kCommunicating, collective.bucket, -1}});
        continue;
      }
      const std::uint64_t waited = arrival.allThereTicks;
      give(windows->second,
           {kKnownFlight,
            {arrival.startTicks, waited},
            {Cause::kWaiting, collective.bucket, collective.lastRank.value_or(-1)}});
      give(windows->second,
           {kKnownFlight, {waited, arrival.endTicks}, {Cause::kTransfer, collective.bucket, -1}});
    }
  }

  void noteBegin(int rank, const SpanRow& span) {
    if (span.bucket != trace::kNoBucket) {
      std::uint64_t& begin = launches_[{rank, span.step, span.bucket}].beginTicks;
      begin = begin == 0 ? span.startTicks : std::min(begin, span.startTicks);
    }
  }

  std::map<int, Windows> ranks_;
  std::map<LaunchKey, Launch> launches_;
};

/// Hands the moments of a step to those who claim them.
std::map<CauseKey, std::uint64_t> divide(Window& window, const RankActivity& activity) {
  const Interval whole{window.step.startTicks, window.step.endTicks};
  const Intervals computing = clip(activity.computing, whole);
  // Three sets that add up to the step: computing, exposed, rest. A claim of communication takes
  // from `exposed` and any other from `rest`, so that no moment can be given twice whatever claims
  // it.
  Intervals exposed = subtract(clip(activity.inFlight, whole), computing);
  Intervals rest = subtract(subtract({whole}, computing), exposed);
  std::sort(window.claims.begin(), window.claims.end(), [](const Claim& a, const Claim& b) {
    return std::tie(a.order, a.time.begin, a.time.end, a.key) <
           std::tie(b.order, b.time.begin, b.time.end, b.key);
  });
  std::map<CauseKey, std::uint64_t> ticks;
  ticks[{Cause::kComputing, trace::kNoBucket, -1}] = length(computing);
  const Intervals offCore = clip(activity.offCore, whole);
  ticks[{Cause::kNoCoreInFlight, trace::kNoBucket, -1}] = length(intersect(exposed, offCore));
  ticks[{Cause::kNoCore, trace::kNoBucket, -1}] = length(intersect(rest, offCore));
  // Taken before the claims: with a core, the rank would have been computing.
  exposed = subtract(exposed, offCore);
  rest = subtract(rest, offCore);
  for (const Claim& claim : window.claims) {
    Intervals& from = claim.order <= kUnknownFlight ? exposed : rest;
    const Intervals taken = clip(from, claim.time);
    if (!taken.empty()) {
      ticks[claim.key] += length(taken);
      from = subtract(from, taken);
    }
  }
  ticks[{Cause::kOther, trace::kNoBucket, -1}] = length(rest);
  return ticks;
}

}  // namespace

bool isExposed(Cause cause) {
  return cause == Cause::kNoCoreInFlight || cause == Cause::kTransfer || cause == Cause::kWaiting ||
         cause == Cause::kCommunicating;
}

std::vector<StepCauses> stepCauses(const RunData& data, const RunAnalysis& run) {
  CauseGathering gathering(run);
  data.eachSpan([&](int rank, const SpanRow& span) { gathering.add(rank, span); });
  std::map<int, Windows>& ranks = gathering.finish();
  std::vector<StepCauses> all;
  for (const RankActivity& activity : rankActivity(data)) {
    for (Window& window : ranks[activity.rank]) {
      StepCauses& step = all.emplace_back();
      step.rank = activity.rank;
      step.step = window.step.step;
      for (const auto& [key, ticks] : divide(window, activity)) {
        if (ticks != 0) {
          step.parts.push_back({key, data.clock.durationNs(ticks) / 1e6});
        }
      }
    }
  }
  return all;
}

}  // namespace lockstep::analysis

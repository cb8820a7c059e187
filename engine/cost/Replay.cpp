#include "engine/cost/Replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "engine/cost/LineClock.h"

namespace lockstep::cost {
namespace {

constexpr double kLongAgo = -std::numeric_limits<double>::infinity();

/// What one rank does in a replay; a bucket's part for each bucket.
using Parts = std::vector<BucketPart>;

/// A line's clock. Beneath a modelled line a backend moves the data, with a clock of its own: what
/// of the bytes is done last counts, and the latency comes after.
class Carrier {
 public:
  explicit Carrier(const Line& line) : line_(line), clock_(line.inFlight) {
    if (line_.under) {
      under_ = std::make_unique<Carrier>(Line{line_.under->cost, line_.under->inFlight, {}});
    }
  }

  /// As LineClock::carry.
  double carry(double metNs, std::uint64_t bytes) {
    const double moved = under_ ? under_->carry(metNs, bytes) : kLongAgo;
    return clock_.carry(metNs, line_.cost.nsPerByte * static_cast<double>(bytes),
                        line_.cost.latencyNs, moved);
  }

 private:
  const Line line_;
  std::unique_ptr<Carrier> under_;
  LineClock clock_;
};

/// A rank's thread for its hook, which encodes the buckets in their order and decodes each once it
/// has come, one thing at a time and what is there first.
class HookClock {
 public:
  explicit HookClock(const RankHabits& habits) : habits_(habits) {}

  /// Returns when a bucket that is handed over at `ns` is encoded.
  double encode(double ns, std::uint64_t bytes) {
    while (next_ < came_.size() && came_[next_].ns <= std::max(ns, free_)) {
      decodeNext();
    }
    free_ = std::max(ns, free_) + habits_.encode.ns(bytes);
    return free_;
  }

  /// A bucket has come at `ns`, later than those before.
  void come(double ns, std::uint64_t bytes) { came_.push_back({bytes, ns, false}); }

  /// Returns when each bucket is decoded, once all have been handed over.
  const std::vector<double>& decoded() {
    while (next_ < came_.size()) {
      decodeNext();
    }
    return decoded_;
  }

 private:
  void decodeNext() {
    free_ = std::max(free_, came_[next_].ns) + habits_.decode.ns(came_[next_].bytes);
    decoded_.push_back(free_);
    ++next_;
  }

  const RankHabits& habits_;
  std::vector<TransferSample> came_;  // few: a deque's first block would cost more than they do
  std::size_t next_ = 0;              // to be decoded
  std::vector<double> decoded_;
  double free_ = kLongAgo;
};

std::vector<Stretch> joined(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> all;
  for (const Stretch& one : stretches) {
    if (!all.empty() && one.begin <= all.back().end) {
      all.back().end = std::max(all.back().end, one.end);
    } else if (one.end > one.begin) {
      all.push_back(one);
    }
  }
  return all;
}

/// How much of `a` lies in `b`; both sorted and disjoint.
double together(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  double sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    (a[i].end < b[j].end ? i : j)++;
  }
  return sum;
}

/// When the step thread has taken the last result; a bucket that is not copied out is taken when it
/// ends.
double resultsTaken(const RankStep& rank, const Parts& parts) {
  double taken = rank.waitsNs;
  for (const BucketPart& part : parts) {
    taken = std::max(taken, std::isnan(part.copiedOutNs) ? part.endedNs : part.copiedOutNs);
  }
  return taken;
}

RankOutcome outcomeOf(const RankStep& rank, const Parts& parts, double stepEndNs) {
  std::vector<Stretch> flights;
  for (const BucketPart& part : parts) {
    // What goes on after the step is none of its exposed time.
    flights.push_back({part.beganNs, std::min(part.endedNs, stepEndNs)});
  }
  flights = joined(std::move(flights));
  RankOutcome outcome;
  for (const Stretch& flight : flights) {
    outcome.inFlightNs += flight.end - flight.begin;
  }
  outcome.exposedNs = outcome.inFlightNs - together(flights, rank.computing);
  outcome.stepNs = stepEndNs - rank.beginNs;
  outcome.endNs = stepEndNs;
  return outcome;
}

Parts partsOf(const StepRecord& step, std::size_t r) {
  Parts parts;
  for (const BucketRecord& bucket : step.buckets) {
    parts.push_back(bucket.parts[r]);
  }
  return parts;
}

/// The step as it would have been had each rank been so much later with everything.
StepRecord laterBy(StepRecord step, const std::vector<double>& ns) {
  for (std::size_t r = 0; r < step.ranks.size(); ++r) {
    RankStep& rank = step.ranks[r];
    for (double* moment : {&rank.beginNs, &rank.endNs, &rank.lastGradientNs, &rank.waitsNs}) {
      *moment += ns[r];
    }
    for (double& filled : rank.filledNs) {
      filled += ns[r];
    }
    for (Stretch& stretch : rank.computing) {
      stretch = {stretch.begin + ns[r], stretch.end + ns[r]};
    }
    for (BucketRecord& bucket : step.buckets) {
      BucketPart& part = bucket.parts[r];
      for (double* moment : {&part.launchedNs, &part.beganNs, &part.endedNs, &part.copyOutNs,
                             &part.copiedOutNs, &part.backendEndedNs}) {
        *moment += ns[r];
      }
    }
  }
  return step;
}

}  // namespace

StepOutcome measuredOutcome(const StepRecord& step) {
  StepOutcome outcome;
  for (const BucketRecord& bucket : step.buckets) {
    BucketMoments& moments =
        outcome.buckets.emplace_back(BucketMoments{kLongAgo, kLongAgo, kLongAgo, kLongAgo});
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
      const BucketPart& part = bucket.parts[r];
      moments.fullNs = std::max(moments.fullNs, fullNs(step.ranks[r], bucket.parameters));
      moments.launchedNs = std::max(moments.launchedNs, part.launchedNs);
      moments.beganNs = std::max(moments.beganNs, part.beganNs);
      moments.endedNs = std::max(moments.endedNs, part.endedNs);
    }
  }
  for (std::size_t r = 0; r < step.ranks.size(); ++r) {
    outcome.ranks.push_back(outcomeOf(step.ranks[r], partsOf(step, r), step.ranks[r].endNs));
  }
  return outcome;
}

std::vector<PlannedBucket> planOf(const StepRecord& step) {
  std::vector<PlannedBucket> plan;
  for (const BucketRecord& bucket : step.buckets) {
    plan.push_back({bucket.parameters, bucket.bytes});
  }
  return plan;
}

StepOutcome replay(const StepRecord& step, const std::vector<RankHabits>& habits, const Line& line,
                   const std::vector<PlannedBucket>& plan) {
  const std::size_t ranks = step.ranks.size();
  StepOutcome outcome;
  Carrier carrier(line);
  std::vector<Parts> parts(ranks);
  std::vector<double> launched(ranks, kLongAgo);
  std::vector<HookClock> hooks(habits.begin(), habits.end());
  for (const PlannedBucket& planned : plan) {
    const double bytes = static_cast<double>(planned.bytes);
    BucketMoments& moments =
        outcome.buckets.emplace_back(BucketMoments{kLongAgo, kLongAgo, kLongAgo, kLongAgo});
    for (std::size_t r = 0; r < ranks; ++r) {
      const RankStep& rank = step.ranks[r];
      const double full = fullNs(rank, planned.parameters);
      // In the order of the buckets, whichever is full first. A whole bucket's copy takes its time
      // once the last gradient is there; gradients that are copied one by one are in filledNs
      // already.
      launched[r] =
          std::max(launched[r], full + rank.wholeCopyNsPerByte * bytes) + habits[r].launchDelayNs;
      const double began = hooks[r].encode(launched[r] + habits[r].startDelayNs, planned.bytes);
      parts[r].push_back({launched[r], began, 0, kNoTime, kNoTime});
      moments.fullNs = std::max(moments.fullNs, full);
      moments.launchedNs = std::max(moments.launchedNs, launched[r]);
      moments.beganNs = std::max(moments.beganNs, began);
    }
    // All ranks have begun: moments.beganNs is the latest of them. The notice comes on top for each
    // transfer, and does not hold the next one up.
    moments.endedNs = carrier.carry(moments.beganNs, planned.bytes) + line.cost.noticeNs;
    for (std::size_t r = 0; r < ranks; ++r) {
      parts[r].back().endedNs = moments.endedNs;
      hooks[r].come(moments.endedNs, planned.bytes);
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    const RankStep& rank = step.ranks[r];
    // The step thread launches, too: it takes no result before its last launch.
    double free = std::max(rank.waitsNs, launched[r]);
    const std::vector<double>& decoded = hooks[r].decoded();
    for (std::size_t b = 0; b < plan.size(); ++b) {
      BucketPart& part = parts[r][b];
      part.copyOutNs = std::max(free, decoded[b] + habits[r].resultDelayNs);
      part.copiedOutNs =
          part.copyOutNs + habits[r].copyOutNsPerByte * static_cast<double>(plan[b].bytes);
      free = part.copiedOutNs;
    }
    // What comes after the last result takes as long as it did.
    const double shift = resultsTaken(rank, parts[r]) - resultsTaken(rank, partsOf(step, r));
    outcome.ranks.push_back(outcomeOf(rank, parts[r], rank.endNs + shift + habits[r].aroundStepNs));
  }
  return outcome;
}

StepOutcome ReplayedSteps::next(const StepRecord& step, const StepRecord& changed) {
  std::vector<double> later;
  for (std::size_t r = 0; before_ != nullptr && r < step.ranks.size(); ++r) {
    // Between two steps that were not neighbours the time from one to the next was never measured:
    // the rank begins when it ended.
    const bool follows = step.step == before_->step + 1;
    later.push_back(endNs_[r] - (follows ? before_->ranks[r].endNs : step.ranks[r].beginNs));
  }
  if (before_ != nullptr && step.step == before_->step + 1 && metBetween(*before_, step)) {
    // Whoever comes first waits for the last, and whoever that is, they go on together.
    std::fill(later.begin(), later.end(), 0.0);
  }
  // Only which rank is later than which counts: the axis of a step begins where its ranks do.
  const double all = later.empty() ? 0 : *std::min_element(later.begin(), later.end());
  for (double& ns : later) {
    ns -= all;
  }
  StepOutcome outcome =
      replay(later.empty() ? changed : laterBy(changed, later), habits_, line_, plan_);
  endNs_.clear();
  for (const RankOutcome& rank : outcome.ranks) {
    endNs_.push_back(rank.endNs);
  }
  before_ = &step;
  return outcome;
}

}  // namespace lockstep::cost

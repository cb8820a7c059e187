#include "engine/cost/Replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/cost/LineClock.h"

namespace lockstep::cost {
namespace {

constexpr double kLongAgo = -std::numeric_limits<double>::infinity();

/// What one rank does in a replay; a bucket's part for each bucket.
using Parts = std::vector<BucketPart>;

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
      for (double* moment :
           {&part.launchedNs, &part.beganNs, &part.endedNs, &part.copyOutNs, &part.copiedOutNs}) {
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
  LineClock clock(line.inFlight);
  std::vector<Parts> parts(ranks);
  std::vector<double> launched(ranks, kLongAgo);
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
      const double began = launched[r] + habits[r].startDelayNs;
      parts[r].push_back({launched[r], began, 0, kNoTime, kNoTime});
      moments.fullNs = std::max(moments.fullNs, full);
      moments.launchedNs = std::max(moments.launchedNs, launched[r]);
      moments.beganNs = std::max(moments.beganNs, began);
    }
    // All ranks have begun: moments.beganNs is the latest of them. The notice comes on top for each
    // transfer, and does not hold the next one up.
    moments.endedNs =
        clock.carry(moments.beganNs, line.cost.nsPerByte * bytes, line.cost.latencyNs) +
        line.cost.noticeNs;
    for (Parts& part : parts) {
      part.back().endedNs = moments.endedNs;
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    const RankStep& rank = step.ranks[r];
    // The step thread launches, too: it takes no result before its last launch.
    double free = std::max(rank.waitsNs, launched[r]);
    for (std::size_t b = 0; b < plan.size(); ++b) {
      BucketPart& part = parts[r][b];
      part.copyOutNs = std::max(free, part.endedNs + habits[r].resultDelayNs);
      part.copiedOutNs =
          part.copyOutNs + habits[r].copyOutNsPerByte * static_cast<double>(plan[b].bytes);
      free = part.copiedOutNs;
    }
    // What comes after the last result takes as long as it did.
    const double shift = resultsTaken(rank, parts[r]) - resultsTaken(rank, partsOf(step, r));
    outcome.ranks.push_back(outcomeOf(rank, parts[r], rank.endNs + shift));
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
  // Only which rank is later than which counts: the axis of a step begins where its ranks do.
  const double all = later.empty() ? 0 : *std::min_element(later.begin(), later.end());
  for (double& ns : later) {
    ns -= all;
  }
  StepOutcome outcome = replay(later.empty() ? changed : laterBy(changed, later), habits_, line_, plan_);
  endNs_.clear();
  for (const RankOutcome& rank : outcome.ranks) {
    endNs_.push_back(rank.endNs);
  }
  before_ = &step;
  return outcome;
}

}  // namespace lockstep::cost

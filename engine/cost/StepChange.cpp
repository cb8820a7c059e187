#include "engine/cost/StepChange.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::cost {
namespace {

/// Moves the moments of what a rank does by itself; results of buckets and the end of its step
/// stay.
template <typename Moved>
void moveOwnWork(RankStep& rank, const Moved& moved) {
  for (double& filled : rank.filledNs) {
    filled = moved(filled);
  }
  rank.lastGradientNs = moved(rank.lastGradientNs);
  rank.waitsNs = moved(rank.waitsNs);
  for (Stretch& stretch : rank.computing) {
    stretch = {moved(stretch.begin), moved(stretch.end)};
  }
}

/// A rank that takes results before it waits for them has them by then.
void keepWaitsBehind(StepRecord& step, std::size_t r) {
  double taken = -std::numeric_limits<double>::infinity();
  for (const BucketRecord& bucket : step.buckets) {
    const BucketPart& part = bucket.parts[r];
    taken = std::max(taken, std::isnan(part.copiedOutNs) ? part.endedNs : part.copiedOutNs);
  }
  if (!step.buckets.empty() && taken < step.ranks[r].waitsNs) {
    step.buckets.back().parts[r].copiedOutNs = step.ranks[r].waitsNs;
  }
}

void takePartOut(RankStep& rank, const RankExcess::Part& part, double ns) {
  switch (part.where) {
    case RankExcess::Where::kBegin:
      takeOut(rank, rank.beginNs + std::max(ns, 0.0), ns);
      break;
    case RankExcess::Where::kGradient:
      if (part.parameter < rank.filledNs.size() && !std::isnan(rank.filledNs[part.parameter])) {
        takeOut(rank, rank.filledNs[part.parameter], ns);
      }
      break;
    case RankExcess::Where::kEnd:
      rank.endNs -= ns;
      break;
  }
}

/// Lets what the rank computes take `factor` of its time: each moment comes earlier by what of the
/// computing before it is gone. With 0..10 computed, 10..12 waited and 12..20 computed, half of it
/// leaves 0..5, 5..7 and 7..11.
void scaleComputing(RankStep& rank, double factor) {
  const std::vector<Stretch> computing = rank.computing;
  moveOwnWork(rank, [&](double at) {
    double before = 0;
    for (const Stretch& one : computing) {
      if (one.begin < at) {
        before += std::min(one.end, at) - one.begin;
      }
    }
    return at - (1 - factor) * before;
  });
}

}  // namespace

void takeOut(RankStep& rank, double untilNs, double ns) {
  moveOwnWork(rank, [&](double at) {
    return at >= untilNs ? at - ns : std::min(at, std::max(untilNs - ns, at - ns));
  });
}

StepRecord changedStep(const StepRecord& step, const StepChange& change) {
  StepRecord changed = step;
  for (std::size_t r = 0; r < changed.ranks.size(); ++r) {
    RankStep& rank = changed.ranks[r];
    const bool without = change.without && change.without->rank == rank.rank;
    if (without || change.computeFactor != 1) {
      keepWaitsBehind(changed, r);
    }
    for (std::size_t i = 0; without && i < change.without->parts.size(); ++i) {
      const RankExcess::Part& part = change.without->parts[i];
      if (const auto ns = part.nsByStep.find(step.step); ns != part.nsByStep.end()) {
        takePartOut(rank, part, ns->second);
      }
    }
    if (change.computeFactor != 1) {
      scaleComputing(rank, change.computeFactor);
    }
  }
  return changed;
}

std::vector<RankHabits> changedHabits(std::vector<RankHabits> own, const HookWork& ownHook,
                                      double bytes, const StepChange& change) {
  const auto ofOwn = [bytes](const TransferCost& work) {
    return work.latencyNs + work.nsPerByte * bytes;
  };
  for (RankHabits& habits : own) {
    if (change.hook) {
      // What the run's own hook did lies in its delays.
      habits.startDelayNs = std::max(habits.startDelayNs - ofOwn(ownHook.encode), 0.0);
      habits.resultDelayNs = std::max(habits.resultDelayNs - ofOwn(ownHook.decode), 0.0);
      habits.encode = change.hook->encode;
      habits.decode = change.hook->decode;
      habits.aroundStepNs = change.hook->aroundStepNs - ownHook.aroundStepNs;
    }
    habits.copyOutNsPerByte = change.gradientsAreViews ? 0 : habits.copyOutNsPerByte;
  }
  return own;
}

}  // namespace lockstep::cost

#include "engine/simulate/RecordedRanks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::simulate {
namespace {

/// Which part of the time from `begin` to `end` a rank did not compute.
double idlePart(const cost::RankStep& rank, double begin, double end) {
  double computing = 0;
  for (const cost::Stretch& one : rank.computing) {
    computing += std::max(0.0, std::min(one.end, end) - std::max(one.begin, begin));
  }
  return end > begin ? std::clamp(1 - computing / (end - begin), 0.0, 1.0) : 0;
}

/// When a rank's step thread had the last result.
double resultsTaken(const cost::StepRecord& step, std::size_t r) {
  double taken = step.ranks[r].waitsNs;
  for (const cost::BucketRecord& bucket : step.buckets) {
    const cost::BucketPart& part = bucket.parts[r];
    taken = std::max(taken, std::isnan(part.copiedOutNs) ? part.endedNs : part.copiedOutNs);
  }
  return taken;
}

/// How much later than the first of all each rank began a step, counted from its end of the one
/// before; 0 where that one is not known, or where they waited for each other in between.
std::vector<double> gapsOf(const cost::StepRecord* before, const cost::StepRecord& step) {
  std::vector<double> gaps(step.ranks.size(), 0);
  if (before == nullptr || before->step + 1 != step.step || cost::metBetween(*before, step)) {
    return gaps;
  }
  // Each step has an axis of its own: only how the ranks differ is known.
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < gaps.size(); ++r) {
    gaps[r] = step.ranks[r].beginNs - before->ranks[r].endNs;
    least = std::min(least, gaps[r]);
  }
  for (double& gap : gaps) {
    gap -= least;
  }
  return gaps;
}

}  // namespace

OwnWork RecordedRanks::ownWork() const {
  OwnWork work;
  for (std::size_t r = 0; r < ranks; ++r) {
    std::vector<double>& of = work.emplace_back();
    for (std::size_t t = 0; t < steps; ++t) {
      const OwnStep& one = own[r * steps + t];
      of.push_back(one.gapNs + one.waitsNs + one.afterNs);
    }
  }
  return work;
}

RecordedRanks recordedRanks(const std::vector<cost::StepRecord>& steps,
                            const std::vector<cost::RankHabits>& habits) {
  RecordedRanks made;
  made.ranks = habits.size();
  made.steps = steps.size();
  made.buckets = steps.front().buckets.size();
  made.lanes = (made.buckets + kLanes - 1) / kLanes * kLanes;
  made.own.resize(made.ranks * made.steps);
  made.beganNs.resize(made.own.size() * made.lanes, 0);
  for (const cost::BucketRecord& bucket : steps.front().buckets) {
    made.bytes.push_back(static_cast<double>(bucket.bytes));
  }
  for (const cost::RankHabits& habit : habits) {
    made.copyOutNsPerByte.push_back(habit.copyOutNsPerByte);
    made.resultDelayNs.push_back(habit.resultDelayNs);
    made.decode.push_back(habit.decode);
  }
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const cost::StepRecord& step = steps[t];
    const auto gaps = gapsOf(t == 0 ? nullptr : &steps[t - 1], step);
    for (std::size_t r = 0; r < made.ranks; ++r) {
      const cost::RankStep& rank = step.ranks[r];
      const std::size_t number = r * made.steps + t;
      double* const began = &made.beganNs[number * made.lanes];
      // As cost::replay() has it: launched when it is full and the one before is launched, and then
      // worked on by a hook that has done with the one before.
      double launched = -std::numeric_limits<double>::infinity();
      double encoded = launched;
      for (std::size_t b = 0; b < made.buckets; ++b) {
        const double full = cost::fullNs(rank, step.buckets[b].parameters) - rank.beginNs +
                            rank.wholeCopyNsPerByte * made.bytes[b];
        launched = std::max(launched, full) + habits[r].launchDelayNs;
        encoded = std::max(launched + habits[r].startDelayNs, encoded) +
                  habits[r].encode.ns(step.buckets[b].bytes);
        began[b] = encoded;
      }
      OwnStep& own = made.own[number];
      own.gapNs = gaps[r];
      own.lastGradientNs = rank.lastGradientNs - rank.beginNs;
      own.lastLaunchNs = launched;
      own.waitsNs = rank.waitsNs - rank.beginNs;
      own.afterNs = std::max(rank.endNs - resultsTaken(step, r) + habits[r].aroundStepNs, 0.0);
      own.idlePart = idlePart(rank, rank.beginNs + began[0], rank.lastGradientNs);
    }
  }
  return made;
}

}  // namespace lockstep::simulate

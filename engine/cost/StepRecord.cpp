#include "engine/cost/StepRecord.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/cost/Sample.h"

namespace lockstep::cost {
namespace {

/// What one rank's steps say of its habits.
struct HabitSamples {
  std::vector<double> launch, start, startBehindOthers, result;
  double copiedNs = 0;
  double copiedBytes = 0;
};

void addHabits(const StepRecord& step, std::size_t r, HabitSamples& samples) {
  const RankStep& rank = step.ranks[r];
  double launchedBefore = -std::numeric_limits<double>::infinity();
  double endedBefore = launchedBefore;
  double free = rank.waitsNs;  // the step thread, for the next result
  for (const BucketRecord& bucket : step.buckets) {
    const BucketPart& part = bucket.parts[r];
    const double bytes = static_cast<double>(bucket.bytes);
    // Mirrors replay(): what is a habit here is added there at the same place.
    const double full = fullNs(rank, bucket.parameters) + rank.wholeCopyNsPerByte * bytes;
    samples.launch.push_back(part.launchedNs - std::max(full, launchedBefore));
    launchedBefore = part.launchedNs;
    (part.launchedNs >= endedBefore ? samples.start : samples.startBehindOthers)
        .push_back(part.beganNs - part.launchedNs);
    endedBefore = std::max(endedBefore, part.endedNs);
    if (std::isnan(part.copyOutNs) || std::isnan(part.copiedOutNs)) {
      continue;
    }
    // Only of a result that the step thread was waiting for: of one that was there before, the time
    // to its copy-out is the thread's own.
    if (part.endedNs > free) {
      samples.result.push_back(part.copyOutNs - part.endedNs);
    }
    free = part.copiedOutNs;
    samples.copiedNs += part.copiedOutNs - part.copyOutNs;
    samples.copiedBytes += bytes;
  }
}

RankHabits habitsOf(HabitSamples samples) {
  RankHabits habits;
  habits.launchDelayNs = std::max(median(std::move(samples.launch)).value_or(0), 0.0);
  // Who begins behind others may have queued for them: then the quickest tell the delay.
  habits.startDelayNs = samples.start.empty() ? quantile(std::move(samples.startBehindOthers), 0.1)
                                              : median(std::move(samples.start)).value_or(0);
  habits.startDelayNs = std::max(habits.startDelayNs, 0.0);
  habits.resultDelayNs = std::max(median(std::move(samples.result)).value_or(0), 0.0);
  habits.copyOutNsPerByte = samples.copiedBytes > 0 ? samples.copiedNs / samples.copiedBytes : 0;
  return habits;
}

}  // namespace

std::vector<TransferSample> transferSamples(const StepRecord& step, std::size_t inFlight) {
  std::vector<TransferSample> samples;
  double free = -std::numeric_limits<double>::infinity();  // when those before have ended
  for (const BucketRecord& bucket : step.buckets) {
    double met = free;
    double ended = free;
    bool queued = true;
    for (const BucketPart& part : bucket.parts) {
      // Queued only where every rank had come before the line was free. Where one came later, that
      // rank was waited for, and the transfer began with it.
      queued = queued && part.beganNs < free;
      met = std::max(met, part.beganNs);
      ended = std::max(ended, part.endedNs);
    }
    // With several at once a queued transfer shared the line with others, by amounts that nobody
    // knows.
    if (ended > met && (!queued || inFlight == 1)) {
      samples.push_back({bucket.bytes, ended - met, queued});
    }
    free = ended;
  }
  return samples;
}

std::vector<RankHabits> rankHabits(const std::vector<StepRecord>& steps) {
  std::vector<RankHabits> habits;
  for (std::size_t r = 0; !steps.empty() && r < steps.front().ranks.size(); ++r) {
    HabitSamples samples;
    for (const StepRecord& step : steps) {
      addHabits(step, r, samples);
    }
    habits.push_back(habitsOf(std::move(samples)));
  }
  return habits;
}

bool metBetween(const StepRecord& before, const StepRecord& step) {
  double began = std::numeric_limits<double>::infinity();
  double ended = -began;
  double shortest = began;
  double longest = -began;
  for (std::size_t r = 0; r < step.ranks.size(); ++r) {
    const double begin = step.originNs + step.ranks[r].beginNs;
    const double end = before.originNs + before.ranks[r].endNs;
    began = std::min(began, begin);
    ended = std::max(ended, end);
    shortest = std::min(shortest, begin - end);
    longest = std::max(longest, begin - end);
  }
  return began >= ended && longest > 2 * shortest;
}

double fullNs(const RankStep& rank, const std::vector<std::uint32_t>& parameters) {
  double last = -std::numeric_limits<double>::infinity();
  for (const std::uint32_t parameter : parameters) {
    if (parameter >= rank.filledNs.size() || std::isnan(rank.filledNs[parameter])) {
      return kNoTime;
    }
    last = std::max(last, rank.filledNs[parameter]);
  }
  return last;
}

}  // namespace lockstep::cost

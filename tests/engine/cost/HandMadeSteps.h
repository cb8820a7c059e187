#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/cost/Replay.h"
#include "engine/cost/StepRecord.h"

namespace lockstep::cost::test {

/// Steps of two ranks that sleep and send, made without the replay: `layers` gradients of
/// `layerBytes`, one each `layerNs` from 10 ms on, buckets of `perBucket` of them, one transfer at
/// a time that takes `latencyNs + nsPerByte * bytes`.
struct SleepingRun {
  int layers = 20;
  std::uint64_t layerBytes = 100'000;
  double layerNs = 1e6;
  int perBucket = 5;
  double latencyNs = 2e5;
  double nsPerByte = 4;
  double noise = 0;                  ///< of each transfer, in parts of it
  std::vector<double> lateNs{0, 0};  ///< by rank: its gradients

  [[nodiscard]] StepRecord step(std::uint32_t number, std::mt19937_64& random) const {
    constexpr double kForwardNs = 10e6;
    constexpr double kOptimizerNs = 2e6;
    std::uniform_real_distribution<double> error(-noise, noise);
    StepRecord step;
    step.step = number;
    for (std::size_t r = 0; r < lateNs.size(); ++r) {
      RankStep& rank = step.ranks.emplace_back();
      rank.rank = static_cast<int>(r);
      for (int layer = 0; layer < layers; ++layer) {
        rank.filledNs.push_back(kForwardNs + lateNs[r] + layerNs * (layer + 1));
      }
      rank.lastGradientNs = rank.filledNs.back();
      rank.waitsNs = rank.lastGradientNs;
      rank.computing = {{0, rank.lastGradientNs}};
    }
    double free = 0;
    for (int first = 0; first < layers; first += perBucket) {
      BucketRecord& bucket = step.buckets.emplace_back();
      for (int layer = first; layer < std::min(layers, first + perBucket); ++layer) {
        bucket.parameters.push_back(static_cast<std::uint32_t>(layer));
        bucket.bytes += layerBytes;
      }
      double met = free;
      for (const RankStep& rank : step.ranks) {
        const double full = rank.filledNs[bucket.parameters.back()];
        bucket.parts.push_back({full, full, 0, kNoTime, kNoTime});
        met = std::max(met, full);
      }
      free = met + (latencyNs + nsPerByte * static_cast<double>(bucket.bytes)) *
                       (1 + (noise > 0 ? error(random) : 0));
      for (BucketPart& part : bucket.parts) {
        part.endedNs = part.copyOutNs = part.copiedOutNs = free;
      }
    }
    for (RankStep& rank : step.ranks) {
      rank.endNs = std::max(rank.lastGradientNs, free) + kOptimizerNs;
    }
    return step;
  }

  [[nodiscard]] std::vector<StepRecord> steps(std::uint32_t count, std::uint64_t seed = 1) const {
    std::mt19937_64 random(seed);
    std::vector<StepRecord> steps;
    for (std::uint32_t i = 0; i < count; ++i) {
      steps.push_back(step(i, random));
    }
    return steps;
  }
};

/// The buckets of such a run with so many layers in each.
inline std::vector<PlannedBucket> planWith(SleepingRun run, int perBucket) {
  run.perBucket = perBucket;
  return planOf(run.steps(1).front());
}

}  // namespace lockstep::cost::test

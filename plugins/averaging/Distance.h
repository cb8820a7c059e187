#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "plugins/averaging/Mean.h"

namespace lockstep::plugin {

inline constexpr Description::Number kMeasureEvery{
    .key = "measure_every",
    .label = "Measure every",
    .help =
        "steps between two measurements of the replicas' distance to their mean, the counter "
        "distance_squared; each costs an allreduce; 0: never",
    .initial = 0,
    .min = 0,
    .max = 1e9,
    .flags = LOCKSTEP_PARAM_ADVANCED};

/// Whether something that is due after every `every` steps is due after `step`; never for 0.
inline bool isDue(std::uint64_t every, std::uint64_t step) {
  return every > 0 && (step + 1) % every == 0;
}

/// Counts the square of this rank's distance to the mean of all ranks as "distance_squared"; the
/// mean of that over the ranks is their consensus distance. One allreduce.
inline void measureDistance(const Run& run, std::span<const float> own, Run::Then then) {
  const auto mean = run.scratch<float>(own.size());
  std::copy(own.begin(), own.end(), mean.begin());
  average(run, run.world(), mean, run.size(), [run, own, mean, then = std::move(then)] {
    double sum = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double apart = double{own[i]} - double{mean[i]};
      sum += apart * apart;
    }
    run.counter("distance_squared", sum);
    then();
  });
}

/// The end of a step's run: measures first, where that is due.
inline void completeMeasured(const Run& run, std::span<const float> own, bool measured) {
  if (measured) {
    measureDistance(run, own, [run] { run.complete(); });
  } else {
    run.complete();
  }
}

}  // namespace lockstep::plugin

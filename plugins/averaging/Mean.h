#pragma once

#include <span>
#include <utility>

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

/// Divides each of some numbers.
template <typename T>
void divide(std::span<T> values, double divisor) {
  const auto by = static_cast<T>(divisor);
  for (T& value : values) {
    value /= by;
  }
}

/// Divides, then sums over `group`, in place: the mean stands in `values` when `then` runs.
/// Division comes first, so that a sum of large numbers cannot overflow, and so that the bits are
/// those of the hook allreduce.
inline void average(const Run& run, const lockstep_group& group, std::span<float> values,
                    double divisor, Run::Then then) {
  divide(values, divisor);
  run.allReduce(group, bufferOf(values), LOCKSTEP_SUM, std::move(then));
}

/// The same for a bucket, over all ranks, as the whole of a run.
inline void averageBucket(const Run& run, const Bucket& bucket) {
  average(run, run.world(), bucket.flat(), bucket.divisor(), [run] { run.complete(); });
  run.noMore();
}

}  // namespace lockstep::plugin

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/ddp/DdpTimes.h"
#include "engine/ddp/ReducerOptions.h"
#include "engine/ddp/reducer/StepLane.h"
#include "engine/ddp/reducer/WatchedParameters.h"
#include "engine/hooks/CommHook.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// What all parts of one Reducer stand on.
struct ReducerContext {
  ReducerContext(std::vector<NamedTensor> parameters,
                 std::shared_ptr<process_group::ProcessGroup> ofRanks, ReducerOptions asked);

  const ReducerOptions options;
  const std::shared_ptr<process_group::ProcessGroup> group;
  WatchedParameters parameters;
  const std::size_t planned;  ///< of them, those with a place in buckets; the rest are deferred

  /// Guards the state of the iteration: what follows, and that of the parts. Not held while a
  /// communication hook runs, nor while the end of a backward waits.
  mutable std::mutex mutex;
  StepLane lane;
  const std::shared_ptr<hooks::CommHook> hook;
  DdpTimes times;
  int divisor = 1;
  at::Tensor inverse;  ///< 1 / divisor, as a number that changes no dtype
  std::uint64_t reductions = 0;
  bool rebuilt = false;

  void divideBy(int by);
  /// Whether the order of this iteration's gradients decides the rebuild of the buckets.
  [[nodiscard]] bool recordsOrder() const {
    return !rebuilt && !options.searchesUnused() && reductions == (options.staticGraph ? 1U : 0U);
  }
  /// For a collective of this iteration.
  [[nodiscard]] process_group::CallOptions callOptions() const;
};

}  // namespace lockstep::ddp

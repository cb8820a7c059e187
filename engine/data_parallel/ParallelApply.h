#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/data_parallel/Device.h"
#include "engine/trace/Tracer.h"

namespace lockstep::data_parallel {

/// The devices of a DataParallel and the lane of each, "device 1": threads of one device take
/// turns on it.
struct DeviceLanes {
  std::vector<Device> devices;
  std::vector<trace::Lane*> lanes;  ///< one a device
};

/// Which half of a step a kParallelApply span is of: its value.
enum class Half : std::uint64_t { kForward = 0, kBackward = 1 };

/// Runs `work(replica)` for replicas 0 .. count-1, each on a thread of its own that has the
/// caller's gradient mode and other thread-local state of libtorch; one alone runs on the
/// caller's. Returns when all have ended. Throws ReplicaError for the first that failed.
void parallelApply(const DeviceLanes& where, std::size_t count, Half half, std::uint32_t step,
                   const std::function<void(std::size_t)>& work);

}  // namespace lockstep::data_parallel

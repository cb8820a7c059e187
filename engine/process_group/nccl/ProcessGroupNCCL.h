#pragma once

#include <memory>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/nccl/Library.h"

namespace lockstep::process_group {

namespace nccl {

/// What a group reaches its devices through.
struct Platform {
  std::shared_ptr<Devices> devices;
  std::shared_ptr<Library> library;
};

}  // namespace nccl

/// Makes a group for collectives among GPUs over NCCL, as c10d's ProcessGroupNCCL. Tensors are the
/// device's.
///
/// Each call queues its work on a high-priority stream of the group, behind what the caller's
/// current stream holds, and returns; DeviceWork says what waiting for it means. Communicators
/// are made by the first operation that needs them, which waits for the other ranks
/// (Communicators.h). Errors, time limits and aborts are the Watchdog's. Several tensors of one
/// call go as one NCCL group. A tensor that is not contiguous goes by way of a copy. A barrier
/// comes after all earlier operations of this rank; waiting for it blocks the caller.
///
/// NCCL has no reductions by bits and none of 16-bit integers (std::invalid_argument). Tags are
/// c10d's: there are none but 0, and recv() names its source. The result's bits may depend on the
/// number of ranks and on NCCL's choice of algorithm, and are the same on every rank.
///
/// allocate() takes memory of the current device from libtorch's allocator.
///
/// Meets nobody yet. Error (kEnvironment): there is no device.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeNccl(
    nccl::Platform platform, std::shared_ptr<store::Store> store, int rank, int size,
    const GroupOptions& options);

}  // namespace lockstep::process_group

#pragma once

#include <memory>

#include "engine/process_group/nccl/Device.h"

namespace lockstep::process_group::nccl {

/// The GPUs that CUDA shows this process, through libtorch's streams and allocator. Always there:
/// its members say it when there is none.
[[nodiscard]] std::shared_ptr<Devices> cudaDevices();

}  // namespace lockstep::process_group::nccl

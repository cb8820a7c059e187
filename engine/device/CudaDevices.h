#pragma once

#include <memory>

#include "engine/device/Device.h"

namespace lockstep::device {

/// The GPUs that CUDA shows this process, through libtorch's streams and allocator. Always there:
/// its members say it when there is none.
[[nodiscard]] std::shared_ptr<Devices> cudaDevices();

}  // namespace lockstep::device

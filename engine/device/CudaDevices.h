#pragma once

#include <memory>

#include "engine/device/Device.h"

namespace lockstep::device {

/// The GPUs that CUDA shows this process, through libtorch's streams and allocator. The object is
/// there even without a GPU: then its members throw.
[[nodiscard]] std::shared_ptr<Devices> cudaDevices();

}  // namespace lockstep::device

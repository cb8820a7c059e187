#include "engine/train/ComputeDevice.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/cuda.h>

namespace lockstep::train {

base::Result<c10::Device> chooseDevice(const std::string& kind, int localRank) {
  if (kind == "cpu") {
    return c10::Device(c10::DeviceType::CPU);
  }
  const auto refuse = [](const std::string& what) {
    return base::Error{base::ExitCode::kEnvironment, what + "; take \"cpu\"", "processes.device"};
  };
  if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
    return refuse("is cuda, and the libtorch of this build has no CUDA");
  }
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (count == 0) {
    return refuse("is cuda, and CUDA sees no GPU on this host");
  }
  // More ranks than GPUs share them in turn.
  const c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(localRank % count));
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  return device;
}

c10::Device deviceOf(const std::vector<at::Tensor>& parameters) {
  return parameters.empty() ? c10::Device(c10::DeviceType::CPU) : parameters.front().device();
}

std::string backendFor(const std::string& backend, const std::string& kind) {
  // As torch names a group with a backend for each kind of device: tensors of the host (texts,
  // counts) go over the first one.
  return kind == "cpu" ? backend : fmt::format("cpu:{},{}:nccl", backend, kind);
}

}  // namespace lockstep::train

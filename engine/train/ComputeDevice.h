#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::train {

/// Returns the device that this rank computes on, "cpu" or "cuda" (processes.device), and makes it
/// the current one of the calling thread: the localRank-th GPU, starting over when there are fewer
/// than ranks on the host. Error (kEnvironment): this libtorch has no CUDA, or sees no GPU.
base::Result<c10::Device> chooseDevice(const std::string& kind, int localRank);

/// Returns where a model with these parameters computes: the CPU, if it has none.
c10::Device deviceOf(const std::vector<at::Tensor>& parameters);

/// Returns the backend that serves `device` as well: `backend` for tensors of the CPU, and NCCL for
/// those of a GPU.
std::string backendFor(const std::string& backend, const std::string& kind);

}  // namespace lockstep::train

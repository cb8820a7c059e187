#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/buckets/BucketPlan.h"
#include "engine/data_parallel/Device.h"

namespace lockstep::data_parallel {

/// Bytes of small tensors that travel as one copy (torch.cuda.comm's buffer_size).
inline constexpr std::uint64_t kCoalesceBytes = 10ull << 20;

/// Returns a copy of `tensor` on device `to` when that is another one than `from`, else
/// `tensor`; adds what was copied to `bytes`. Differentiable.
at::Tensor copyTo(const at::Tensor& tensor, const Device& from, const Device& to,
                  std::uint64_t& bytes);

/// Returns which tensors travel together: those of one dtype, in order, a group closing when it
/// has reached `limitBytes`. All are dense.
buckets::BucketPlan groupForCopy(const std::vector<at::Tensor>& tensors, std::uint64_t limitBytes);

/// The sum over replicas of each gradient, on device 0, by groups of about `limitBytes`.
/// `gradients[r]` are replica r's, on devices[r]; an undefined one counts as zeros, and the sum
/// is undefined where all are. Sparse gradients are summed as such while all are sparse. Adds
/// what was copied between devices to `bytes` (torch.cuda.comm.reduce_add_coalesced).
std::vector<at::Tensor> reduceAddCoalesced(const std::vector<std::vector<at::Tensor>>& gradients,
                                           const std::vector<Device>& devices,
                                           std::uint64_t limitBytes, std::uint64_t& bytes);

}  // namespace lockstep::data_parallel

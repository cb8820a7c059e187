#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace lockstep::ddp {

/// A part of a model that can be computed twice with the same result.
using Segment = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

struct CheckpointOptions {
  /// Recompute with the random numbers of the first time (dropout), on the CPU and on the inputs'
  /// CUDA devices. Costs 5 KB a segment.
  bool preserveRandomState = true;
};

/// Computes `segment(inputs)` without keeping what its backward needs, and again in that backward
/// (Chen et al. 2016; torch.utils.checkpoint, use_reentrant=True). The segment's parameters get
/// their gradients in a backward of their own inside the outer one; a parameter of two segments
/// gets two gradients. DistributedDataParallel then needs static_graph.
/// Note [Two ways to compute again] in the .cpp.
///
/// Gradients are those without checkpointing. At least one input must require a gradient, or the
/// parameters would silently get none: throws DdpError, as for a backward with create_graph. With
/// gradient mode off it is `segment(inputs)`.
[[nodiscard]] std::vector<at::Tensor> checkpointReentrant(Segment segment,
                                                          std::vector<at::Tensor> inputs,
                                                          CheckpointOptions options = {});

/// The same without the inner backward: the gradients of `parameters`, which must be all that the
/// segment uses, leave it as those of any other function, once a backward for each parameter, so
/// that DistributedDataParallel needs nothing special. Other tensors that require gradients and
/// that the segment uses get none. Throws DdpError for a backward with create_graph.
[[nodiscard]] std::vector<at::Tensor> checkpointNonReentrant(Segment segment,
                                                             std::vector<at::Tensor> inputs,
                                                             std::vector<at::Tensor> parameters,
                                                             CheckpointOptions options = {});

}  // namespace lockstep::ddp

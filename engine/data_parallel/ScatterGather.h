#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data_parallel/Device.h"
#include "engine/data_parallel/Tree.h"

namespace lockstep::data_parallel {

/// An input that takes a gradient, and its pieces as leaves of the replicas' graphs.
struct TrackedInput {
  at::Tensor input;
  std::vector<at::Tensor> leaves;  ///< one a replica
};

/// Inputs cut for the replicas.
struct Scattered {
  std::vector<Tree> pieces;           ///< one a replica; as many as there are pieces
  std::vector<TrackedInput> tracked;  ///< in the order of the tree
  std::uint64_t bytes = 0;            ///< copied between devices
};

/// Cuts each tensor along `dim` as torch.chunk does, so that a batch of fewer samples than
/// devices, or of 5 on 4, gives fewer pieces. The inputs lie on devices[0]; its piece is a view.
/// Lists and maps are rebuilt for each replica and any other value is copied. Inputs without a
/// tensor go to every device; no inputs at all go to the first.
/// Throws DataParallelError, naming the input: a scalar, or tensors that do not give the same
/// number of pieces (PyTorch drops the surplus in silence).
Scattered scatter(const Tree& inputs, const std::vector<Device>& devices, std::int64_t dim);

/// One tensor of the outputs, on all replicas.
struct GatheredTensor {
  std::vector<at::Tensor> parts;  ///< one a replica, in its graph
  at::Tensor whole;               ///< on the output device, without history
  bool fromScalars = false;       ///< parts are scalars; whole has one element a replica
};

/// Outputs put together.
struct Gathered {
  Tree shape;                           ///< replica 0's tree; its tensors are replaced later
  std::vector<GatheredTensor> tensors;  ///< in the order of the tree
  std::uint64_t bytes = 0;              ///< copied to the output device
};

/// Joins the replicas' outputs along `dim` on `to`; scalars become a vector with one element a
/// replica. Outputs consist of tensors and nothing, in lists and maps.
/// Throws DataParallelError, naming output and devices: trees of different shape, a value that
/// cannot be joined, sizes that differ in another dimension than `dim`.
Gathered gather(const std::vector<Tree>& outputs, const std::vector<Device>& devices,
                const Device& to, std::int64_t dim);

/// Returns the part of the gradient of `gathered.whole` that belongs to each replica, on its
/// device; adds what was copied to `bytes`.
std::vector<at::Tensor> scatterGradient(const GatheredTensor& gathered, const at::Tensor& gradient,
                                        const std::vector<Device>& devices, const Device& from,
                                        std::int64_t dim, std::uint64_t& bytes);

/// Returns the gradient of a tracked input, joined from its leaves, on devices[0]; adds what was
/// copied to `bytes`.
at::Tensor gatherGradient(const TrackedInput& tracked, const std::vector<Device>& devices,
                          std::int64_t dim, std::uint64_t& bytes);

}  // namespace lockstep::data_parallel

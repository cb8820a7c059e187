#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/mpi/Flight.h"

namespace lockstep::process_group::mpi {

// What each collective posts and computes. In a group of one all is done by Schedule::prepare.

/// This rank's place in its group.
struct Place {
  int rank = 0;
  int size = 1;
};

/// MPI_Ibcast of each tensor.
[[nodiscard]] Schedule broadcast(Place place, std::vector<at::Tensor> tensors, int root);

// Note [What MPI reduces]
// MPI_Iallreduce and MPI_Ireduce have whatever the network and the MPI are good at, and give all
// ranks the same bits, but combine in an order of their own: a run over MPI need not end in the
// bits of a run over another backend. MPI has no half types, drops a NaN in min and max, and would
// round each partial sum of a user-defined operation. For those every rank gets its piece of all
// others' tensors and combines them in rank order (Reduction.h), bit by bit as the other backends
// do; the pieces then go to all. Up to 512 KB the whole tensors go round at once. A reduce-scatter
// is always done so: its inputs lie apart, and MPI takes only one block.

/// In place. Several tensors are copied into one block.
[[nodiscard]] Schedule allreduce(Place place, std::vector<at::Tensor> tensors, ReduceOp op);
/// In place on the root.
[[nodiscard]] Schedule reduce(Place place, at::Tensor tensor, int root, ReduceOp op);
[[nodiscard]] Schedule reduceScatter(Place place, at::Tensor output, std::vector<at::Tensor> inputs,
                                     ReduceOp op);

// Messages between each two ranks, from the tensors and into them.
[[nodiscard]] Schedule allgather(Place place, std::vector<at::Tensor> outputs, at::Tensor input);
[[nodiscard]] Schedule gather(Place place, std::vector<at::Tensor> outputs, at::Tensor input,
                              int root);
[[nodiscard]] Schedule scatter(Place place, at::Tensor output, std::vector<at::Tensor> inputs,
                               int root);
/// `bytesFrom` and `bytesTo`: the parts of output and input, by rank.
[[nodiscard]] Schedule alltoall(Place place, at::Tensor output, at::Tensor input,
                                std::vector<std::uint64_t> bytesFrom,
                                std::vector<std::uint64_t> bytesTo);

}  // namespace lockstep::process_group::mpi

#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "engine/process_group/gloo/Flight.h"

namespace lockstep::process_group::gloo {

// The algorithms of the collectives over a full mesh of connections. They run on a worker, block
// until this rank is done, and throw PeerLost or Interrupted.

/// Broadcast, allgather, gather, scatter and alltoall: each block goes straight from tensor to
/// tensor.
void move(Flight& flight, const std::vector<at::Tensor>& outputs,
          const std::vector<at::Tensor>& inputs);

/// Allreduce, reduce and reduce-scatter, as PieceReduction says, in segments of which some are in
/// flight while others are reduced.
void reduce(Flight& flight, const std::vector<at::Tensor>& outputs,
            const std::vector<at::Tensor>& inputs);

/// Returns once every rank has come: a dissemination barrier of ceil(log2 n) rounds (Hensgen,
/// Finkel, Manber 1988).
void barrier(Flight& flight);

}  // namespace lockstep::process_group::gloo

#pragma once

#include <ATen/core/Tensor.h>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// Returns the sum of a sparse COO tensor over the ranks, coalesced, the same on every rank. No
/// backend here reduces sparse tensors, so the ranks allgather their counts of entries, then
/// indices and values, padded to the longest. `own`: of `size` with one sparse dimension, or
/// undefined for no entries of dtype `type`. Waits. Throws CommError.
/// Cost: each rank receives every rank's entries; worth it while they are few.
at::Tensor sumSparse(process_group::ProcessGroup& group, const at::Tensor& own,
                     at::IntArrayRef size, at::ScalarType type,
                     const process_group::CallOptions& options);

}  // namespace lockstep::ddp

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// Bytes packed into one broadcast, as c10d.
inline constexpr std::uint64_t kBroadcastBytes = 250ull << 20;

/// Copies `tensors` from rank `root` to all ranks, in place. Tensors of one dtype and device
/// are packed by the bucket rule into broadcasts of about `bytes`, at most two of which are in
/// flight. All ranks pass tensors of the same shapes, dtypes and order. Throws CommError.
void broadcastCoalesced(process_group::ProcessGroup& group, const std::vector<at::Tensor>& tensors,
                        int root, std::uint64_t bytes = kBroadcastBytes,
                        const process_group::CallOptions& options = {});

}  // namespace lockstep::ddp

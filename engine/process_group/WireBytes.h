#pragma once

#include <cstdint>

#include "engine/process_group/Call.h"

namespace lockstep::process_group {

/// Bytes that the other ranks take from this one, and this one from them, in a call that has ended
/// well: for a backend that does not see its data move, what it takes over a network of links
/// between each two ranks.
struct WireBytes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// `exchangedBytes`: up to this size an allreduce exchanges whole tensors, beyond it pieces.
[[nodiscard]] WireBytes wireBytes(const Call& call, int rank, int size,
                                  std::uint64_t exchangedBytes = 0);

}  // namespace lockstep::process_group

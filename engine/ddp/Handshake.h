#pragma once

#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// Checks that every rank built the same thing before any of its data moves: `items` is this
/// rank's description, one text a fact ("parameter 3 is 'fc.weight', float32 [10, 5]").
///
/// The ranks allgather a 128-bit hash. Only when hashes differ they exchange the texts, and
/// every rank throws DdpError naming the first rank that differs from rank 0, the first fact
/// in which it does, and both versions. Throws CommError when a collective fails.
/// Goes beyond c10d, which compares parameter counts, sizes and strides alone.
void verifySameOnAllRanks(process_group::ProcessGroup& group,
                          const std::vector<std::string>& items);

}  // namespace lockstep::ddp

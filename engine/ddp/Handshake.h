#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::ddp {

/// Something that all ranks must have alike: "parameter" number 3, "'fc.weight' (3), float32
/// [10, 5]"; "bucket rule", "c10d-1.13". No text has a line break or a tabulator in it.
struct Fact {
  std::string kind;
  std::string value;
  std::size_t number = 0;  ///< of those of its kind, where there are several
};

/// Checks that every rank built the same thing before any of its data moves.
///
/// The ranks allgather a 128-bit hash. Only where hashes differ they exchange the texts, and every
/// rank throws DdpError. It names the first rank that differs from the majority (without one, from
/// rank 0), the first fact in which it does, and both versions: of one kind and number, or "no
/// parameter 3". Throws CommError when a collective fails. Goes beyond c10d, which compares
/// parameter counts, sizes and strides alone.
void verifySameOnAllRanks(process_group::ProcessGroup& group, const std::vector<Fact>& facts);

}  // namespace lockstep::ddp

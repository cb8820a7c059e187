#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/process_group/Failure.h"
#include "engine/process_group/shared_memory/Board.h"
#include "engine/process_group/shared_memory/Operation.h"

namespace lockstep::process_group::shared_memory {

/// Writes a rank's call to its place on the board, and for an alltoall the sizes of its parts to
/// its inline area: to each rank, then from each.
void writeCall(const Operation& operation, int rank, const Board& board);

/// How much of the inline area that takes.
[[nodiscard]] std::uint64_t tableBytes(const Call& call, int size);

/// For an alltoall: where what each rank has for this one begins among its bytes.
[[nodiscard]] std::vector<std::uint64_t> beginsFor(const Operation& operation, int rank,
                                                   const Board& board);

/// Why an operation fails of which those that have come do not make the same call: names two ranks
/// and what each has called, and as culprits who differs from most. No text where they agree.
[[nodiscard]] Failure mismatch(const Operation& operation, int rank, const Board& board);

/// What an operation waits for: "waiting for rank 2, which has not come to it", or for the ranks
/// that have stopped on the way. `peer` is the first of them, -1 when there is none.
struct Missing {
  std::string text;
  int peer = -1;
};
[[nodiscard]] Missing missing(const Operation& operation, int rank, const Board& board);

}  // namespace lockstep::process_group::shared_memory

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/NoticeBoard.h"

namespace lockstep::process_group {

/// What other ranks' reasons for giving up come to.
struct Blame {
  std::string text;  ///< "ranks 0, 2 gave up: ... (they waited for this rank)"; may be empty
  int culprit = -1;  ///< whom they waited for; -1 when they do not say
};

/// Returns what those say who gave up by themselves: a rank that followed another one is left out
/// where that one speaks. `rank` is this rank.
[[nodiscard]] Blame blameOf(const std::vector<std::pair<int, Failure>>& reasons, int rank);

/// Returns whom `rank` waits for in the end, when it waits for `peer` and the others stand where
/// `told` says: "waiting for data from rank 0" goes on ", which waits for rank 1 in allreduce #5;
/// rank 1 has not reported being in this operation".
[[nodiscard]] Blame blameForWaiting(const std::optional<Told>& told, int rank, int size, int peer);

}  // namespace lockstep::process_group

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/Call.h"

namespace lockstep::process_group {

/// What a rank writes on the notice board about the call it is in.
[[nodiscard]] std::string note(const Call& call);

/// What is wrong with the calls of a group's ranks.
struct Difference {
  std::string text;           ///< names two ranks and what each called; empty: nothing
  std::vector<int> culprits;  ///< who differs from most; all that differ where there is no majority
};

/// Compares the call of this rank, `self` of `size`, with the others' notes.
[[nodiscard]] Difference mismatch(const Call& call, int self, int size,
                                  const std::vector<std::pair<int, std::string>>& notes);

}  // namespace lockstep::process_group

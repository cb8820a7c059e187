#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/process_group/Call.h"

namespace lockstep::process_group {

/// What a rank writes on the notice board about the call it is in.
[[nodiscard]] std::string note(const Call& call);

/// Compares the call of this rank, `self`, with the others' notes. Returns a sentence that names the ranks
/// and what each called when they do not belong together, else nothing.
[[nodiscard]] std::string mismatch(const Call& call, int self,
                                   const std::vector<std::pair<int, std::string>>& notes);

}  // namespace lockstep::process_group

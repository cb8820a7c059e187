#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "engine/base/Result.h"

namespace lockstep::imports {

// Note [Reading a pickle]
// A pickle is a program that builds objects, and may call any function of the Python that loads it.
// This reader knows the opcodes alone that build dict, list, tuple, str, bytes, int, float, bool
// and None (protocols 2 to 5, as torch and Python write them), and refuses every other one by its
// name: GLOBAL and REDUCE, which call something, before anything is done with them. What it builds
// is bounded in number and depth, whatever the memo repeats; a value that holds itself is refused.

/// Reads one pickle. Tuples become lists, keys that are numbers their text. `where` names the file
/// in an error: kBadInput, with the opcode and its place.
base::Result<nlohmann::json> readPickle(std::span<const char> bytes, const std::string& where);

}  // namespace lockstep::imports

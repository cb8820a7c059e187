#pragma once

#include <cctype>
#include <string>

namespace lockstep::base {

/// Returns a clause as a sentence begins, with a capital. What does not begin with a letter of
/// ASCII, "µs" or "3 ranks", stays as it is.
inline std::string startingLarge(std::string clause) {
  if (!clause.empty()) {
    clause.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(clause.front())));
  }
  return clause;
}

}  // namespace lockstep::base

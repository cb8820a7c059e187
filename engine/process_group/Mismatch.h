#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/process_group/Call.h"

namespace lockstep::process_group {

/// What a rank writes on the notice board about the call it is in.
[[nodiscard]] std::string note(const Call& call);

/// With what every text about calls that differ begins.
inline constexpr std::string_view kNotTheSameCall = "the ranks do not make the same call: ";

/// Says that two ranks make different calls, each in the words of `describe`.
[[nodiscard]] std::string unlikeCallsText(int rank, std::string_view called, int other,
                                          std::string_view otherCalled);

/// The same of an alltoall in which one rank sends other bytes than the other expects of it.
[[nodiscard]] std::string unlikePartsText(int sender, std::uint64_t sent, int receiver,
                                          std::uint64_t expected);

/// What is wrong with the calls of a group's ranks.
struct Difference {
  std::string text;           ///< names two ranks and what each called; empty: nothing
  std::vector<int> culprits;  ///< who differs from most; all that differ where there is no majority
};

/// Compares the call of this rank, `self` of `size`, with the others' notes.
[[nodiscard]] Difference mismatch(const Call& call, int self, int size,
                                  const std::vector<std::pair<int, std::string>>& notes);

}  // namespace lockstep::process_group

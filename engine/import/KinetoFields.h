#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "engine/import/KinetoEvent.h"

namespace lockstep::imports {

/// What of an event's text is of use: its own fields, and from kExternalId on those of its "args".
enum class Field : std::uint8_t {
  kNone,
  kPhase,
  kCategory,
  kName,
  kProcess,
  kThread,
  kBegin,
  kDuration,
  kArguments,
  kExternalId,
  kCorrelation,
  kStream,
  kShapes,
  kTypes,
  kCollective,
  kElementsIn,
  kElementsOut,
  kDtype,
  kGroupName,
  kGroupRanks,
  kGroupDescription,
  kSequence,
  kStep,
  kBucket,
};

/// kNone: it is of no use.
Field eventFieldNamed(const std::string& key);
Field argumentNamed(const std::string& key);

/// Sets what an argument says; nothing where it is none of that type.
void setNumber(KinetoEvent& event, Field argument, std::int64_t number);
void setText(KinetoEvent& event, Field argument, const std::string& text);

// Four of these are still a number of ns.
inline constexpr std::int64_t kLatestNs = std::numeric_limits<std::int64_t>::max() / 4;

/// Whole ns of a number of µs as it stands in the file: a double would lose them. Nothing: it is no
/// time.
std::optional<std::int64_t> nanoseconds(std::string_view text);

}  // namespace lockstep::imports

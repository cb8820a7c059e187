#pragma once

#include <cstdint>

#include "engine/trace/EventRecord.h"

namespace lockstep::run {

/// What a lane of a timeline shows. A lane gathers the spans of one rank and one role, whichever
/// threads emitted them.
enum class LaneRole : std::uint8_t { kPhases = 0, kGradients = 1, kHook = 2, kCommunication = 3 };

/// What the value of a span is, as far as kinds share it; Event.h says what else it may be.
enum class ValueIs : std::uint8_t { kOfItsOwn, kBytes, kCollective, kParameter };

/// What may be so of all spans of a kind.
enum Trait : std::uint32_t {
  kAnalysed = 1u << 0,    ///< the analysis looks at it
  kInFlight = 1u << 1,    ///< communication, as its rank takes part in it: Note [Overlap], here and
  kWork = 1u << 2,        ///< ... a phase in which the rank computes
  kService = 1u << 3,     ///< ... for the communication's sake: taken from the work around it
  kAside = 1u << 4,       ///< ... computing, whatever the step thread does
  kByDevice = 1u << 5,    ///< its detail may say that it is by a device's clock (DeviceTimed.h)
  kInstant = 1u << 6,     ///< it takes no time
  kAsync = 1u << 7,       ///< goes on without the thread that recorded it, and may overlap others
  kOfCall = 1u << 8,      ///< its detail and value name a collective that a backend was asked for
  kCall = 1u << 9,        ///< such a collective under way: itself, its check, its modelled link
  kHookPhase = 1u << 10,  ///< a phase of the communication hook
  kWaits = 1u << 11,      ///< nothing goes on in it but waiting
  kCopies = 1u << 12,     ///< its bytes over its time are the speed of a copy
  kOfScript = 1u << 13,   ///< a part of the training that its script knows of, or that befell it
  kPhase = 1u << 14,      ///< what a step thread does, one after the other
  kApart = 1u << 15,      ///< rare, and worth keeping whatever is kept of its step
  kFine = 1u << 16,       ///< what a step of which phases and collectives are kept goes without
};

/// What a kind of event means.
struct KindFacts {
  trace::EventKind kind{};
  LaneRole lane = LaneRole::kPhases;
  std::uint8_t row = 1;  ///< of its lane, in which its spans begin to look for room
  ValueIs value = ValueIs::kOfItsOwn;
  std::uint32_t traits = 0;  ///< of Trait
};

/// A row for what stands apart from what a lane is about: in communication, a check, below the
/// collectives.
inline constexpr std::uint8_t kOwnRow = 4;

/// Returns what is known of a kind; of one that a newer format has, what is usual.
const KindFacts& factsOf(trace::EventKind kind);
inline bool has(trace::EventKind kind, Trait trait) {
  return (factsOf(kind).traits & trait) != 0;
}

/// Returns which part of a span, 0 to 1, is what its kind says: of kOffCore, in which the thread
/// waited nobody knows when, what it waited; of any other kind, and of an instant, all. `value`:
/// the span's, as Event.h has it. [any-thread]
double partOf(trace::EventKind kind, std::uint64_t value, double durationNs);

}  // namespace lockstep::run

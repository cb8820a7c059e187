#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/trace/Event.h"

namespace lockstep::trace {

// Note [User phases]
// A training script marks what it does by names of its own (lockstep.phase("tokenise")). An event
// has no room for a text: the value of a kUserPhase is a number that is made of the name
// (userPhaseNumber), so that all ranks and runs have one number for one name and nobody has to
// agree on any. The name itself is a fact of each rank that used it, the row "phase.NUMBER" of its
// environment, sent before the first such event.

/// Opens the key of a phase's name in RankInfo::environment.
inline const std::string kUserPhasePrefix = "phase.";

/// FNV-1a of the name, 64 bits folded onto 48: never negative in a run file.
std::uint64_t userPhaseNumber(std::string_view name);

/// Keeps the names of phases that stand among these facts, for as long as the process lives. A
/// name whose number is not its own is damage, and is left out. [any-thread]
void learnUserPhases(const std::map<std::string, std::string>& environment);

/// Whether the value of a kind is such a number: also of what a profiler's trace names.
constexpr bool isNamed(EventKind kind) {
  return kind == EventKind::kUserPhase || kind == EventKind::kOperator ||
         kind == EventKind::kDeviceKernel || kind == EventKind::kDeviceCopy;
}

/// The name of a phase that was learnt; empty otherwise. Valid for as long as the process lives.
/// [any-thread]
std::string_view userPhaseName(std::uint64_t number);

}  // namespace lockstep::trace

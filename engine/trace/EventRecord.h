#pragma once

#include <cstdint>
#include <string_view>

#include "engine/trace/Operation.h"

namespace lockstep::trace {

// The kinds themselves are in Event.h. Code that only carries events, and does not ask what they
// are, needs no more than this, and a new kind does not touch it.
enum class EventKind : std::uint16_t;
enum class FaultKind : std::uint16_t;
enum class StartupStage : std::uint16_t;
enum class CounterId : std::uint16_t;

inline constexpr std::uint16_t kWholeBucket = 1;  ///< detail of kCopyIn, kGradientCheck
/// Bit of the detail of a hook's phases: its times were not reported, but derived from what was
/// seen around it.
inline constexpr std::uint16_t kDerived = 0x4000;

/// One record of a ring: 32 bytes, written by one thread, copied as it is.
struct Event {
  std::uint64_t startTicks = 0;  ///< base::ticks() of the host
  std::uint64_t durationTicks : 48 = 0;
  std::uint64_t kind : 16 = 0;  ///< EventKind
  std::uint32_t step = 0;       ///< iteration, counted from 0
  std::uint16_t bucket = kNoBucket;
  std::uint16_t detail = 0;
  std::uint64_t value = 0;
};
static_assert(sizeof(Event) == 32);

/// Names as the run file's `kinds` table and the views show them: "forward".
std::string_view name(EventKind kind);
std::string_view name(StartupStage stage);
std::string_view name(CounterId counter);
std::string_view name(FaultKind fault);

}  // namespace lockstep::trace

#include "engine/trace/EventCost.h"

#include <algorithm>
#include <limits>

#include "engine/base/Clock.h"
#include "engine/trace/Tracer.h"

namespace lockstep::trace {

double eventCostNs() {
  constexpr int kRounds = 8;
  constexpr int kEvents = 500;
  auto segment = Segment::create({.lanes = 1,
                                  .eventsPerLane = 1 << 13,  // holds all rounds: none is dropped
                                  .messageRingBytes = 1 << 12});
  if (!segment.ok()) {
    return 0;
  }
  Tracer tracer(std::move(segment).value());
  Lane& lane = tracer.lane("cost");
  const auto before = base::readClock();
  auto least = std::numeric_limits<std::uint64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t start = base::ticks();
    for (int i = 0; i < kEvents; ++i) {
      lane.span(EventKind::kCopyIn, base::ticks(), 0);
    }
    least = std::min(least, base::ticks() - start);
  }
  const auto clock = base::calibrate(before, base::readClock());
  return static_cast<double>(least) * clock.nsPerTick / kEvents;
}

}  // namespace lockstep::trace

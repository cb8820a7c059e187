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
  auto least = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const auto start = base::monotonicNs();
    for (int i = 0; i < kEvents; ++i) {
      lane.span(EventKind::kCopyIn, base::ticks(), 0);
    }
    least = std::min<std::int64_t>(least, base::monotonicNs() - start);
  }
  return static_cast<double>(least) / kEvents;
}

}  // namespace lockstep::trace

#include "engine/trace/EventCost.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "engine/base/Clock.h"
#include "engine/trace/Event.h"
#include "engine/trace/Tracer.h"

namespace lockstep::trace {

double eventCostNs() {
  constexpr int kRounds = 16;
  constexpr int kEvents = 500;
  // A ring that all rounds go through, so that the later ones meet memory that has been touched,
  // as those of a training do.
  auto mine = Segment::create({.lanes = 1, .eventsPerLane = 1 << 9, .messageRingBytes = 1 << 12});
  if (!mine.ok()) {
    return 0;
  }
  auto emitted = Segment::attach(dup(mine.value().fd()));
  if (!emitted.ok()) {
    return 0;
  }
  Tracer tracer(std::move(emitted).value());
  Lane& lane = tracer.lane("cost");
  LaneHeader& ring = mine.value().lane(0);
  auto least = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const auto start = base::monotonicNs();
    for (int i = 0; i < kEvents; ++i) {
      lane.span(EventKind::kCopyIn, base::ticks(), 0);
    }
    least = std::min<std::int64_t>(least, base::monotonicNs() - start);
    // Empties the ring as a recorder would: it has room for one round alone.
    ring.tail.store(ring.head.load());
  }
  return static_cast<double>(least) / kEvents;
}

}  // namespace lockstep::trace

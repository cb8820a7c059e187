#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/Segment.h"

namespace lockstep::trace {

/// Takes events and messages out of a rank's segment: the consumer's side of its rings.
/// Works on a dead rank's segment as on a living one's. One thread at a time.
class SegmentReader {
 public:
  explicit SegmentReader(Segment& segment);

  /// Returns how many lanes the rank has opened so far.
  [[nodiscard]] std::uint32_t lanes() const;
  [[nodiscard]] std::string laneName(std::uint32_t lane) const;

  /// Returns how many events wait in the lane.
  [[nodiscard]] std::uint64_t waiting(std::uint32_t lane) const;
  [[nodiscard]] std::uint64_t dropped(std::uint32_t lane) const;
  /// Returns how full the message ring is, 0..1.
  [[nodiscard]] double messagesFill() const;

  /// Calls `take(event)` for every event that waited when it was called, at most `most`; returns
  /// their number.
  /// A lane whose indices make no sense (the rank's memory was overwritten) is emptied.
  template <typename Take>
  std::uint64_t drainLane(std::uint32_t lane, Take&& take,
                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    LaneHeader& header = segment_.lane(lane);
    const Event* events = segment_.events(lane);
    const std::uint64_t mask = segment_.header().eventsPerLane - 1;
    const std::uint64_t head = header.head.load(std::memory_order_acquire);
    const std::uint64_t tail = header.tail.load(std::memory_order_relaxed);
    if (head - tail > mask + 1) {
      header.tail.store(head, std::memory_order_release);
      return 0;
    }
    const std::uint64_t end = tail + std::min(head - tail, most);
    for (std::uint64_t at = tail; at != end; ++at) {
      take(events[at & mask]);
      // Space is given back in pieces, so that the producer need not wait for a whole ring.
      if ((at & kGiveBackMask) == kGiveBackMask) {
        header.tail.store(at + 1, std::memory_order_release);
      }
    }
    header.tail.store(end, std::memory_order_release);
    return end - tail;
  }

  /// Calls `take(text)` for every message that waited. A ring whose frames make no sense (the
  /// rank's memory was overwritten) is emptied; returns false then.
  bool drainMessages(const std::function<void(std::string_view)>& take);

 private:
  static constexpr std::uint64_t kGiveBackMask = 1023;

  Segment& segment_;
  std::string frame_;
};

}  // namespace lockstep::trace

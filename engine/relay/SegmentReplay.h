#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/relay/Wire.h"
#include "engine/trace/Tracer.h"

namespace lockstep::relay {

/// Does in a segment of this host what a rank elsewhere did in its own: the same lanes, events,
/// messages, counts and last words, so that whoever reads the segment need not know that the rank
/// is elsewhere. What does not fit is dropped and counted, as a rank's own lane does. One thread.
class SegmentReplay {
 public:
  /// Maps `segment` a second time. Its owner sees to it that capture stays enabled in it.
  static base::Result<std::unique_ptr<SegmentReplay>> make(const trace::Segment& segment);

  /// `clock` is that of the rank's host, `nowTicks` the moment there. By them the last words get
  /// times of this host; events keep the ticks of the rank's.
  void apply(const RankPart& part, const base::ClockCalibration& clock, std::uint64_t nowTicks);

 private:
  struct LaneState {
    trace::Lane* lane = nullptr;
    std::uint64_t dropped = 0;
  };

  SegmentReplay(trace::Segment counts, trace::Segment mapping);
  void write(std::uint32_t lane, const LanePart& part);
  void write(const Words& words, const base::ClockCalibration& clock, std::uint64_t nowTicks);

  trace::Segment counts_;  // a mapping for the counts that the tracer does not write
  trace::Tracer tracer_;
  base::ClockReading firstReading_ = base::readClock();
  std::vector<LaneState> lanes_;
  std::uint64_t sentBytes_ = 0;
  std::uint64_t receivedBytes_ = 0;
  std::uint64_t sentMessages_ = 0;
  std::uint64_t messagesDropped_ = 0;
  std::uint32_t traceDone_ = 0;
};

}  // namespace lockstep::relay

#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/trace/Messages.h"
#include "engine/trace/Segment.h"
#include "engine/trace/Tracer.h"

namespace lockstep::support {

/// A rank's tracer whose events and messages can be read back: both ends of its segment are in
/// this process, and capture is on. Each look gives what has come since the last one. One thread
/// looks. Throws std::runtime_error when there is no memory for the segment, when events or
/// messages did not fit it, and for a message that cannot be read.
class RankRecording {
 public:
  explicit RankRecording(const trace::SegmentOptions& options = {8, 4096, 1u << 16});

  [[nodiscard]] trace::Tracer& tracer() { return tracer_; }
  /// The supervisor's end.
  [[nodiscard]] trace::Segment& segment() { return segment_; }

  /// Returns the events by the name of their lane; lanes of one name come one after the other.
  /// Waits for a core are left out: whether there are any is up to the machine.
  [[nodiscard]] std::map<std::string, std::vector<trace::Event>> lanes();

  /// Returns the events of one kind, lane by lane; the others are gone then.
  [[nodiscard]] std::vector<trace::Event> eventsOf(trace::EventKind kind);

  [[nodiscard]] std::vector<trace::Message> messages();

 private:
  trace::Segment segment_;
  trace::Tracer tracer_;
};

}  // namespace lockstep::support

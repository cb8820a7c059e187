#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/import/HostCalls.h"
#include "engine/import/TraceBuckets.h"
#include "engine/trace/EventRecord.h"
#include "engine/trace/Messages.h"

namespace lockstep::imports {

/// A span or, where begin and end are the same, an instant; ns of the rank's own clock.
struct TimedEvent {
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  trace::EventKind kind{};
  std::uint32_t lane = 0;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint16_t detail = 0;
  std::uint64_t value = 0;
};

/// A collective of a rank; its number in its group is found when the ranks are laid side by side.
struct RankCall {
  CallFacts facts;
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::optional<std::int64_t> askedNs;
  bool flew = false;
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  std::uint32_t lane = 0;

  [[nodiscard]] std::uint64_t bytes() const { return facts.elements * dtypeBytes(facts.dtype); }
};

/// What a trace says about a rank, in the terms of a run.
struct RankTimeline {
  std::vector<std::string> lanes;
  std::vector<TimedEvent> events;
  std::vector<RankCall> calls;  ///< in the order in which they were asked for
  std::vector<trace::ParametersMessage::Parameter> parameters;  ///< in the order of their gradients
  std::vector<trace::BucketsMessage> layouts;
  std::set<std::string> notes;  ///< what the trace does not say: sentences
  NoteCounts counts;            ///< the same, of some of something
  std::uint64_t steps = 0;
  bool countsForItself = false;  ///< iterations are numbered from the begin of the trace
};

// Lanes that every rank has.
inline constexpr std::uint32_t kStepLane = 0;
inline constexpr std::uint32_t kDdpLane = 1;

/// Finds steps, phases, gradients, buckets and collectives in a trace. What it does not say is left
/// out, with a note.
RankTimeline timelineOf(const KinetoTrace& trace);

/// All that is not said, numbers filled in.
std::set<std::string> notesOf(const RankTimeline& timeline);

}  // namespace lockstep::imports

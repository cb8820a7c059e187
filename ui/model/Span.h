#pragma once

#include <cstdint>

#include "engine/run/KindFacts.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::ui {

using run::LaneRole;
inline constexpr int kLaneRoles = 4;

/// Returns the role that spans of `kind` belong to. Numbers and gaps belong to none of their
/// own: a gap is kept by track (RunModel::gaps), a number as a metric.
inline LaneRole laneRoleOf(trace::EventKind kind) { return run::factsOf(kind).lane; }

/// A lane is known by rank and role; the number is the same in every run.
constexpr int laneId(int rank, LaneRole role) { return rank * kLaneRoles + static_cast<int>(role); }
constexpr int rankOfLane(int lane) { return lane / kLaneRoles; }
constexpr LaneRole roleOfLane(int lane) { return static_cast<LaneRole>(lane % kLaneRoles); }

/// One span or instant, as views see it: a copy, valid whatever the model does next.
struct Span {
  std::int64_t id = -1;  ///< row id in the run file; -1 = no span
  int lane = 0;
  int row = 0;           ///< within the lane, 0 on top; spans of one row never overlap
  int track = 0;         ///< TrackInfo::id, the thread that emitted it
  trace::EventKind kind{};
  std::uint32_t step = 0;
  std::uint16_t bucket = trace::kNoBucket;
  std::uint16_t detail = 0;
  std::uint64_t value = 0;
  double startNs = 0;     ///< since the origin of the run
  double durationNs = 0;  ///< 0 for an instant

  [[nodiscard]] bool valid() const { return id >= 0; }
  [[nodiscard]] double endNs() const { return startNs + durationNs; }
  [[nodiscard]] int rank() const { return rankOfLane(lane); }
  [[nodiscard]] LaneRole role() const { return roleOfLane(lane); }
  /// Which part of it is what its kind says: run::partOf.
  [[nodiscard]] double part() const { return run::partOf(kind, value, durationNs); }
  [[nodiscard]] bool hasBucket() const { return bucket != trace::kNoBucket; }
  [[nodiscard]] bool sameAs(const Span& other) const { return id == other.id && lane == other.lane; }
};

/// A stretch of time in ns since the origin of the run.
struct TimeRange {
  double startNs = 0;
  double endNs = 0;

  [[nodiscard]] double lengthNs() const { return endNs - startNs; }
  [[nodiscard]] bool empty() const { return !(endNs > startNs); }
  [[nodiscard]] double middleNs() const { return (startNs + endNs) / 2; }
  /// Returns the range with a part of its length more on either side: its ends are seen as ends.
  [[nodiscard]] TimeRange widened(double part) const {
    return {startNs - part * lengthNs(), endNs + part * lengthNs()};
  }
  bool operator==(const TimeRange&) const = default;

  [[nodiscard]] static TimeRange about(double ns, double lengthNs) {
    return {ns - lengthNs / 2, ns + lengthNs / 2};
  }
};

}  // namespace lockstep::ui

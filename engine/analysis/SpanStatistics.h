#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace lockstep::analysis {

inline constexpr std::uint32_t kNoGroup = 0xFFFF'FFFF;

/// The thread of what goes on without one: a span that lies within nothing and holds nothing.
inline constexpr std::int32_t kNoThread = std::numeric_limits<std::int32_t>::min();

/// What statistics need of a span. Times in any one unit; duration 0: an instant.
struct TimedSpan {
  double start = 0;
  double duration = 0;
  std::int32_t thread = 0;  ///< whose work it is; kNoThread: nobody's, as of what is waited for
  std::uint32_t group = 0;  ///< that it is counted with, from 0; kNoGroup: with none

  [[nodiscard]] double end() const { return start + duration; }
};

/// A stretch of time in the unit of the spans.
struct TimeWindow {
  double start = 0;
  double end = 0;
};

/// What the spans of one group have in common, in the unit of the spans.
///
/// A span lies within another when both are work of one thread and the other covers it. Instants
/// are counted and not measured.
struct SpanStatistics {
  std::uint64_t count = 0;     ///< of spans and instants
  std::uint64_t measured = 0;  ///< of spans; without any, all that follows is 0
  double total = 0;     ///< of spans that lie within no other of the group: none counts twice
  double self = 0;      ///< of all spans, less the time in which others lie within them
  double inWindow = 0;  ///< of `total`, what lies in the window; all without one
  double mean = 0;
  double min = 0;
  double p50 = 0, p90 = 0, p99 = 0;  ///< interpolated between the nearest two, as `quantile`
  double max = 0;
  double deviation = 0;  ///< standard deviation of these very spans (divisor: `measured`)
};

/// Returns the part of the time of all ranks that a group took: what lies in the window over the
/// window of each rank. 0 to 1, and more where threads of a rank work at the same time; 0 of an
/// empty window.
double shareOf(const SpanStatistics& group, const TimeWindow& window, int ranks);

/// Returns the statistics of groups 0 .. groups - 1. What belongs to none of them is not counted,
/// but what it takes of the span that it lies within is that one's self time no more. Takes the
/// time of sorting the spans. [any-thread]
std::vector<SpanStatistics> spanStatistics(std::vector<TimedSpan> spans, std::size_t groups,
                                           const std::optional<TimeWindow>& window = {});

}  // namespace lockstep::analysis

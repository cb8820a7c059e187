#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/export/Survey.h"

namespace lockstep::exports {

// Note [Kernels for HTA]
// Holistic Trace Analysis looks at events with a stream alone, takes those whose names begin with
// "ncclKernel" for communication and the rest for computing, and divides the time in which both
// were there by that of communication. A run on CPUs has no streams. So each rank is given rows
// that have one, and that say in a field that they are no CUDA streams: one with the stretches in
// which it computed, and as many as it takes with what was in flight; both as Note [Overlap] has
// them, within the iterations, so that HTA's figure is ours over the exported iterations, but for
// the rounding that follows.
// Events that HTA must not count have no stream.
//
// HTA rounds begins up and ends down to whole µs where a file has decimals. That would take a µs
// of every slice, so these begin and end on whole µs already, the nearest ones; slices that are
// shorter than that are gone, and the overlap of an HtaRank is that of these rows: HTA's own to
// the last digit, however short the run. No event is called ProfilerStep: with two or more of that
// name HTA drops what no CUDA launch belongs to, and the last iteration.

struct HtaKernel {
  std::int64_t beginUs = 0;  ///< since the begin of the export
  std::int64_t endUs = 0;
  std::size_t row = 0;                 ///< of its kind; slices of one row nest
  std::optional<trace::SpanRow> span;  ///< what was in flight; none: computing
  trace::EventKind phase{};            ///< of computing

  /// "ncclKernel_AllReduce_lockstep", "lockstep_backward".
  [[nodiscard]] std::string name() const;
};

struct HtaRank {
  int rank = 0;
  std::vector<HtaKernel> communication;  ///< by time, what holds another before it
  std::vector<HtaKernel> computing;      ///< by time, row 0
  std::uint64_t inFlightUs = 0;          ///< that any of `communication` covers
  std::uint64_t overlapUs = 0;           ///< of that, what any of `computing` covers too
  std::uint32_t steps = 0;

  /// None: nothing was in flight, or none of it for a µs.
  [[nodiscard]] std::optional<double> overlapPercent() const;
};

/// Returns the kernels of each rank; `survey.data` is there and outlives them.
std::vector<HtaRank> htaRanks(const Survey& survey, std::int64_t beginNs);

}  // namespace lockstep::exports

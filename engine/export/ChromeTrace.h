#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "engine/export/Selection.h"
#include "engine/export/Survey.h"

namespace lockstep::exports {

// Note [The trace]
// The trace event format that Chrome defined and Kineto writes: Perfetto, TensorBoard and Holistic
// Trace Analysis read it. A rank is a process (number rank + 1), a lane of it a thread, a span a
// complete event (X), a moment an instant (i), a number a counter (C); flow events (s, t, f) join
// one collective's slices in the order in which the ranks came. Times are µs with three decimals
// since baseTimeNanoseconds, which is on CLOCK_MONOTONIC of the run's host: a run file does not
// know the time of day of its events closer than a second.
// A time whose three decimals would lose a nanosecond to a reader that multiplies by a thousand and
// cuts has a fourth, so that slices of one thread nest there too.
// Lines are in the order of time within blocks of half a million spans, so that memory does not
// grow with the spans of a run; it does with its sampled numbers and its output, which are held
// whole. Files in which HTA finds its kernels take the memory of an analysis of the run.

enum class TraceReader {
  kAny,  ///< Perfetto, chrome://tracing
  kHta,  ///< Holistic Trace Analysis (Note [Kernels for HTA])
};

struct TraceOptions {
  TraceReader reader = TraceReader::kAny;
  Selection selection;
  std::size_t blockSpans = kBlockSpans;  ///< lines are in the order of time within such blocks
};

/// The overlap that HTA finds in a rank's file, from the rows as they are written.
struct RankOverlap {
  int rank = 0;
  std::uint32_t steps = 0;
  std::optional<double> percent;  ///< none: nothing was in flight
};

struct TraceReport {
  std::vector<std::filesystem::path> files;
  std::uint64_t events = 0;  ///< of the run
  std::uint64_t ranks = 0;
  std::uint64_t bytes = 0;                    ///< of the files, compressed where they are
  std::vector<std::filesystem::path> others;  ///< traces a rank that the folder held besides
  std::vector<RankOverlap> overlaps;          ///< of TraceReader::kHta
};

/// Writes a run, live or finished, into one trace for all ranks ("-": standard output; a name
/// that ends in ".gz" is compressed). HTA reads such a file of one rank only.
/// Errors: a run file that cannot be read, a selection that holds nothing, a file that cannot be
/// written, kInterrupted. After an error there is no file, or the one that was there before.
base::Result<TraceReport> writeTrace(const std::filesystem::path& run,
                                     const std::filesystem::path& file, const TraceOptions& options,
                                     const Progress& progress = {});

/// Writes a trace a rank into a folder, which is made where it is missing: "RUN.rank0.json", ...
/// Flows, which would lead from file to file, are left out.
base::Result<TraceReport> writeTracePerRank(const std::filesystem::path& run,
                                            const std::filesystem::path& folder,
                                            const TraceOptions& options,
                                            const Progress& progress = {});

}  // namespace lockstep::exports

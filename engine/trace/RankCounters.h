#pragma once

#include <cstdint>

#include "engine/trace/RankDrain.h"
#include "engine/trace/ResourceSampler.h"
#include "engine/trace/RunFile.h"

namespace lockstep::trace {

/// Turns what a rank's process and rings say into the rows of CounterId. [recorder thread]
class RankCounters {
 public:
  /// Samples, and writes the counters of the `seconds` since the last call. A rank whose
  /// process ended has none; with process id 0 those of the process are left out. Without a
  /// writer it only samples.
  void sample(RankDrain& drain, std::int64_t pid, double seconds, RunFileWriter* writer);

 private:
  ResourceSampler resources_;
  bool seenRunning_ = false;
  std::uint64_t sentBytes_ = 0;
  std::uint64_t receivedBytes_ = 0;
};

}  // namespace lockstep::trace

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/trace/RunFile.h"

namespace lockstep::capture {

/// What of a run's events its file keeps (capture.detail).
enum class Detail : std::uint8_t {
  kFull,      ///< all that was emitted
  kSteps,     ///< of each step its phases, buckets and collectives, and its sums
  kOutliers,  ///< of each step its sums; all of it of steps and ranks that are unlike the rest
};
/// "full", "steps", "outliers". Another text is a bug.
Detail detailNamed(std::string_view name);

struct DetailOptions {
  Detail detail = Detail::kFull;
  /// The file grows no larger than about this; 0: as large as it gets. With nine tenths of it
  /// written, only sums of steps are added; with all of it, nothing but how the run ends.
  std::uint64_t limitBytes = 0;
};

/// Stands between a recorder and the run file and lets through what is to be kept: Note [What is
/// kept] in DetailWriter.cpp. The file itself says what was left out, in the environment of the run
/// (trace::kLeftOut) and, once its limit is reached, in a problem. With the default options it
/// returns `file` as it is.
std::unique_ptr<trace::RunFileWriter> writeDetail(std::unique_ptr<trace::RunFileWriter> file,
                                                  const DetailOptions& options);

}  // namespace lockstep::capture

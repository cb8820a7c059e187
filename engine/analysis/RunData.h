#pragma once

#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

/// The part of a run that the analysis looks at.
struct RunData {
  std::vector<trace::TrackInfo> tracks;
  std::vector<trace::SpanRow> spans;  ///< in any order; kinds of no interest may be missing
  std::vector<trace::BucketsMessage> layouts;
  base::ClockCalibration clock;
};

/// Says whether the analysis looks at a span.
bool isAnalysed(const trace::SpanRow& span);

/// Reads what a run file holds now, and keeps only what is analysed.
base::Result<RunData> readRunData(trace::RunFileReader& reader);

}  // namespace lockstep::analysis

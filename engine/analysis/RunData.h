#pragma once

#include <vector>

#include "engine/base/Clock.h"
#include "engine/base/Result.h"
#include "engine/trace/ClockDoubt.h"
#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

/// The part of a run that the analysis looks at.
struct RunData {
  std::vector<trace::TrackInfo> tracks;
  std::vector<trace::SpanRow> spans;  ///< in any order; kinds of no interest may be missing
  std::vector<trace::BucketsMessage> layouts;
  base::ClockCalibration clock;
  trace::ClockDoubt doubt;  ///< among ranks on several hosts

  // For the comparison of replicas (Divergence.h), in the order of the file.
  std::vector<trace::ParametersMessage::Parameter> parameters;
  std::vector<trace::FingerprintRow> fingerprints;
  std::vector<trace::SketchRow> sketches;
  std::vector<trace::GradientRow> gradients;
  std::vector<trace::MetricRow> losses;

  std::vector<trace::MetricRow> stolen;  ///< "stolen_percent", in the order of the file
};

/// Moves what is analysed besides spans from `update` to `data`.
void takeSamples(trace::RunUpdate& update, RunData& data);

/// Says whether the analysis looks at a span.
bool isAnalysed(const trace::SpanRow& span);

/// Reads what a run file holds now, and keeps only what is analysed.
/// `spansAtOnce` at a time.
base::Result<RunData> readRunData(trace::RunFileReader& reader, std::size_t spansAtOnce = 200'000);

}  // namespace lockstep::analysis

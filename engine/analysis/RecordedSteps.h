#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/RunData.h"
#include "engine/analysis/StepRecords.h"
#include "engine/base/Result.h"
#include "engine/buckets/Assign.h"
#include "engine/cost/Cores.h"
#include "engine/cost/Forecaster.h"
#include "engine/experiment/Experiment.h"
#include "engine/trace/RunFile.h"

namespace lockstep::analysis {

/// The caps of an experiment in bytes.
buckets::BucketCaps capsOf(const experiment::DdpConfig& config);

/// What a bucket of a layout has on the whole.
double meanBucketBytes(const trace::BucketsMessage& layout);

/// A step for a forecast, and what its collectives carried (allreducedShare).
struct RecordedStep {
  cost::StepRecord record;
  std::optional<double> share;
};

/// What a run says of itself besides its steps.
struct RecordedSettings {
  experiment::Experiment experiment;
  int worldSize = 0;
  std::string backend;  ///< that carried the collectives: "auto" names the one it became
  std::string probe;    ///< RankInfo::environment "probe" of rank 0; empty: there was none
  trace::RunKind kind = trace::RunKind::kExperiment;
  std::optional<cost::Cores> cores{};  ///< coresOf() the run
};

/// Returns how many of the run's transfers travel at once on such a link (cost::Line::inFlight).
std::size_t linkInFlight(const RecordedSettings& settings, const experiment::LinkConfig& link);

/// Returns the part of a bucket's bytes that the collectives of all steps carried; none: they
/// differ, or it is not known.
std::optional<double> shareOf(const std::vector<RecordedStep>& steps);

/// Returns what a forecast takes from steps with the same buckets: where a link is shaped, with
/// what its settings say of it. [any-thread]
cost::RecordedRun recordedRun(const std::vector<RecordedStep>& steps,
                              const RecordedSettings& settings);

/// The last steps of a run file that all ranks recorded whole, with the last buckets.
struct RecordedSteps {
  std::vector<trace::ParametersMessage::Parameter> parameters;
  trace::BucketsMessage layout;
  RecordedSettings settings;
  std::vector<RecordedStep> steps;
};

/// Returns the experiment of a run; none: it cannot be read. That of a job of PyTorch is the
/// default one: nobody said its caps and its link. `path` is the run's file. [any-thread]
std::optional<experiment::Experiment> experimentOf(const trace::RunInfo& info,
                                                   const std::filesystem::path& path);

/// Returns at most the last 64 steps after the first one that used the last buckets, which is
/// unlike the rest. `experiment` is experimentOf() the run; `path` is named in errors: the run
/// names no buckets; its experiment cannot be read; it is not one of DDP. [any-thread]
base::Result<RecordedSteps> recordedSteps(const RunData& data, const trace::RunInfo& info,
                                          const std::vector<trace::RankInfo>& ranks,
                                          std::optional<experiment::Experiment> experiment,
                                          const std::filesystem::path& path);

/// The last 64 steps of a run file.
struct LastSteps {
  trace::RunSummary summary;
  RunData data;
};

/// Errors: those of RunFileReader.
base::Result<LastSteps> readLastSteps(const std::filesystem::path& path);

/// As recordedSteps() above, of an experiment's run alone.
base::Result<RecordedSteps> recordedSteps(const LastSteps& last, const std::filesystem::path& path);

/// The same of the file of a run. Errors: those of RunFileReader, too.
base::Result<RecordedSteps> readStepsOfAnyRun(const std::filesystem::path& path);

/// The same of an experiment's run, which alone says its caps and its link.
base::Result<RecordedSteps> readRecordedSteps(const std::filesystem::path& path);

}  // namespace lockstep::analysis

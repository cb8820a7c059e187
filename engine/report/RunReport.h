#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/Divergence.h"
#include "engine/analysis/Headroom.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/Tail.h"
#include "engine/base/Result.h"
#include "engine/diagnosis/CostliestBucket.h"
#include "engine/diagnosis/Diagnose.h"
#include "engine/diagnosis/Evidence.h"
#include "engine/diagnosis/UnlikeRanks.h"
#include "engine/run/Spans.h"
#include "engine/trace/RunFile.h"

namespace lockstep::report {

/// What `lockstep info` says about a run, live or finished. What a run does not know (yet) is
/// absent.
struct RunReport {
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  std::vector<trace::HostState> hosts;  ///< none in files before format 1.3
  std::vector<trace::ParametersMessage::Parameter> parameters;
  std::vector<trace::BucketsMessage> layouts;
  std::uint32_t steps = 0;                      ///< finished on rank 0
  std::optional<double> loss;                   ///< last of rank 0
  std::optional<double> testAccuracy;           ///< 0..1
  std::optional<double> stepsPerSecond;         ///< of the slowest rank, after the warm-up
  std::optional<double> stepsPerSecondWithin;   ///< the same without what is between the steps
  std::vector<analysis::RankAnalysis> figures;  ///< of the ranks with a step, by rank
  std::vector<analysis::RankLateness> lateness;
  /// Which ranks are unlike the rest; none: there are so few that each is looked at.
  std::optional<diagnosis::RankLikeness> likeness;
  std::optional<double> stolenPercent;             ///< of a core (analysis::stolenPercent)
  std::vector<analysis::RankOverlap> bottlenecks;  ///< of the ranks with a measured step, by rank
  std::vector<analysis::TailReason> causes;        ///< of the exposed time of all ranks
  std::optional<analysis::CheckCost> checks;
  analysis::Divergence divergence;
  diagnosis::Diagnosis diagnosis;
  std::uint64_t events = 0;
  std::uint64_t eventsDropped = 0;
  std::vector<trace::ProblemRow> problems;
  /// Of each rank: what c10d's Logger would know of its DistributedDataParallel, by its names.
  std::vector<std::map<std::string, std::string>> ddpLogging;
};

/// Reads a run file, live or finished. Errors: those of RunFileReader.
base::Result<RunReport> readRunReport(const std::filesystem::path& runFile);

/// The same with all that it was made of.
struct ReportedRun {
  RunReport report;
  diagnosis::Evidence evidence;
  analysis::BucketDelays delays;  ///< without their samples, which are more than all else
  diagnosis::BucketVerdict bucketVerdict;
  run::Spans notAnalysed;  ///< the spans that the evidence has not: no figure is made of them
};
base::Result<ReportedRun> readReportedRun(const std::filesystem::path& runFile);

/// Up to so many ranks or hosts each are listed; of more those that are alike are one line.
inline constexpr std::size_t kHandful = 8;

/// What is said of a run in one line under a label, as `lockstep info` prints it.
struct Line {
  std::string label;  ///< "communication"; empty: it goes on with the line before
  std::string text;
};

/// Return the lines that have something to say: what the run is and what became of it, where the
/// time of its steps went, and what its record says of itself and of the replicas.
std::vector<Line> runLines(const RunReport& report);
std::vector<Line> timeLines(const RunReport& report);
std::vector<Line> recordLines(const RunReport& report);

/// Return a line of these each, empty where there is nothing to say: steps, loss and rate; what the
/// recorder says that the run file does not hold; how many events it has; whether the replicas are
/// equal; what in the gradients was not finite; and what it cost to look.
std::string trainingText(const RunReport& report);
std::string leftOutText(const RunReport& report);
std::string eventsText(const RunReport& report);
std::string replicasText(const RunReport& report);
std::string sanityText(const RunReport& report);
std::string samplingText(const RunReport& report);

}  // namespace lockstep::report

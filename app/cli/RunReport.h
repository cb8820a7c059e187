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
#include "engine/diagnosis/Diagnose.h"
#include "engine/diagnosis/UnlikeRanks.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {

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

base::Result<RunReport> readRunReport(const std::filesystem::path& runFile);

/// Returns the report as one JSON object on several lines.
std::string toJson(const RunReport& report);

/// Up to so many ranks or hosts each are listed; of more those that are alike are one line.
inline constexpr std::size_t kHandful = 8;

/// How long the lists of infoText are: as long as is read, or as there is to list.
enum class Lists : std::uint8_t { kShort, kWhole };

/// Returns the report as tables.
std::string infoText(const RunReport& report, Lists lists = Lists::kShort);

/// Returns the table of infoText that names the hosts, their ranks and how far their clocks are
/// off; empty for a run on one host.
std::string hostTable(const RunReport& report, Lists lists = Lists::kShort);

/// Returns the table of infoText that says how the ranks ended.
std::string rankTable(const RunReport& report, Lists lists = Lists::kShort);

/// Return a line of infoText each, empty where there is nothing to say: whether the replicas are
/// equal, what in the gradients was not finite, and what it cost to look.
std::string replicasText(const RunReport& report);
std::string sanityText(const RunReport& report);
std::string samplingText(const RunReport& report);

/// Returns the few lines that a run ends with.
std::string summaryText(const RunReport& report, const std::filesystem::path& runFile);

}  // namespace lockstep::cli

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/CallSequences.h"
#include "engine/analysis/Divergence.h"
#include "engine/analysis/HookTimes.h"
#include "engine/analysis/RecordedSteps.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/StepOverlap.h"
#include "engine/base/Result.h"
#include "engine/diagnosis/RankWork.h"
#include "engine/trace/RunFile.h"

namespace lockstep::diagnosis {

/// What a run holds of which evidence is made. A copy costs little.
struct Recording {
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  analysis::RunData data;
  std::optional<analysis::RunAnalysis> analysis{};  ///< of this data, where it is known already
};

/// One value a step, by step: of what a rule tells the mean and where it is seen best.
struct StepValues {
  std::vector<std::uint32_t> steps;
  std::vector<double> values;

  explicit StepValues(const std::map<std::uint32_t, double>& byStep = {});
  /// The step with the largest value; none: there is none.
  [[nodiscard]] std::optional<std::uint32_t> largest() const;
};

/// What is known of a run, as a rule looks at it: the rows, and what `analysis` makes of them, once
/// for all rules. Never changed once made. [any-thread]
struct Evidence {
  /// What of a step's transfers was exposed, over the ranks that tell.
  struct ExposedTransfers {
    double ms = 0;
    int ranks = 0;
  };

  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks;
  analysis::RunData data;

  analysis::RunAnalysis run;
  std::vector<analysis::StepOverlap> steps;  ///< their tails are in what follows
  std::vector<analysis::TailReason> causes;  ///< of exposed time, the largest first
  std::map<std::uint32_t, ExposedTransfers> exposedTransfers;  ///< by measured step
  analysis::Divergence divergence;
  std::vector<analysis::CallSequence> calls;
  std::vector<RankWork> work;  ///< of the measured steps, by rank
  analysis::HookTimes hook;    ///< empty where the engine's own hook ran: nothing is said of that

  /// None: it was no experiment of the engine's, or cannot be read.
  std::optional<experiment::Experiment> experiment;
  /// The last steps, for a replay. Error: a clause that ends "this run cannot tell, because ...".
  base::Result<analysis::RecordedSteps> recorded{base::Error{}};
  base::Result<cost::Forecaster> forecaster{base::Error{}};

  /// The mean of the measured steps of all ranks; 0: there are none.
  double stepMs = 0;
  std::uint32_t measuredSteps = 0;  ///< of one rank, the most

  [[nodiscard]] bool isMeasured(const analysis::StepTimes& step) const {
    return step.step >= run.warmUp.firstMeasured && !step.incomplete;
  }
  /// The longest that any rank's step thread waited for a core, with what a hypervisor may have
  /// taken of it, in ms: of each measured step.
  [[nodiscard]] StepValues longestCoreWaitsMs() const;
  /// The name of a parameter, or "parameter 7".
  [[nodiscard]] std::string parameter(std::uint32_t index) const;
  /// The bucket that a parameter is in, by the last assignment.
  [[nodiscard]] std::optional<std::uint16_t> bucketOf(std::uint32_t parameter) const;
};

/// Makes evidence of a run, or of the part of a live one that has come so far; `path` is named in
/// what it says of its experiment. [any-thread]
Evidence evidenceOf(Recording recording, const std::filesystem::path& path);

/// Reads all that a run file holds now. Errors: those of RunFileReader.
base::Result<Evidence> readEvidence(const std::filesystem::path& path);

}  // namespace lockstep::diagnosis

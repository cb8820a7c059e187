#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/BucketCosts.h"
#include "engine/analysis/BucketDelays.h"
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
  std::vector<trace::HostState> hosts{};
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
  std::vector<trace::HostState> hosts;  ///< none in files before format 1.3
  analysis::RunData data;

  analysis::RunAnalysis run;
  std::vector<analysis::StepOverlap> steps;  ///< those of a rank by start, without their tails
  std::vector<analysis::TailReason> causes;  ///< of exposed time, the largest first
  std::map<std::uint32_t, ExposedTransfers> exposedTransfers;  ///< by measured step
  analysis::BucketCosts bucketCosts;
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

/// Gets what was measured of the buckets of a run, and its analysis.
using TakeDelays = std::function<void(analysis::BucketDelays, const analysis::RunAnalysis&)>;

/// Makes evidence of a run, or of the part of a live one that has come so far; `path` is named in
/// what it says of its experiment. `takeDelays` is called at once when steps were divided, which
/// buckets are measured by, too; empty: nobody asks for them. [any-thread]
Evidence evidenceOf(Recording recording, const std::filesystem::path& path,
                    const TakeDelays& takeDelays = {});

/// The same of a run that grows. What is found of steps once for all is kept; the work of ranks and
/// the calls of a hook, and what rules add up, are of all steps at each look. One thread at a time.
class GrowingEvidence {
 public:
  /// `recording` goes on with that of the last call, and has its analysis. What is returned stays
  /// until the next call.
  const Evidence& refresh(Recording recording, const std::filesystem::path& path);

 private:
  analysis::GrowingOverlaps overlaps_;
  analysis::GrowingDivergence divergence_;
  analysis::GrowingCallSequences calls_;
  analysis::TailSums causes_;                                      // of closed steps
  std::map<std::uint32_t, Evidence::ExposedTransfers> transfers_;  // likewise
  analysis::BucketCosts buckets_;                                  // likewise
  std::size_t closed_ = 0;  // of the evidence's steps, the first
  Evidence evidence_;
};

/// Reads all that a run file holds now. Errors: those of RunFileReader.
base::Result<Evidence> readEvidence(const std::filesystem::path& path);

}  // namespace lockstep::diagnosis

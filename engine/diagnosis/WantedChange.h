#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/RecordedSteps.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/base/Result.h"
#include "engine/cost/StepChange.h"
#include "engine/cost/VerifiedHook.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::diagnosis {

/// What of a run is to be another one; what is none stays.
struct WantedChange {
  std::optional<double> capMb;
  std::vector<double> capListMb;
  std::string link;  ///< of linkPresets(); empty: none
  std::optional<double> bandwidthGbps;
  std::optional<double> latencyUs;
  std::optional<int> inFlight;
  std::string hookOf;                                      ///< a run file
  std::shared_ptr<const cost::VerifiedHook> verifiedHook;  ///< in place of that of a run
  std::optional<double> computeFactor;
  std::optional<int> withoutExcessOf;  ///< a rank

  bool operator==(const WantedChange&) const = default;
};

/// The same as a replay takes it.
struct ReadyChange {
  cost::StepChange change;
  std::vector<std::string> parts;  ///< "cap 4 MiB", "10 Gbit/s", "2 in flight"
  std::string hook;                ///< name of the other one
  std::string ofHook;  ///< a sentence: what is taken of one that was verified; else empty
  /// The run's with what is changed, named after it; none: no setting makes it so.
  std::optional<experiment::Experiment> experiment;
};

/// Returns what is wanted of the run that `recorded` and `data` are of. Errors: those of other
/// runs' files and of settings, with their place; and, without one, clauses that end "this run
/// cannot tell, because ...". [any-thread]
base::Result<ReadyChange> readyChange(const WantedChange& wanted,
                                      const analysis::RecordedSteps& recorded,
                                      const analysis::RunData& data);

/// Returns a run as a forecast takes it, with what its own hook works where it has one of its own.
/// `known` is the analysis of `data`, where there is one already. [any-thread]
cost::RecordedRun recordedRunOf(const analysis::RecordedSteps& recorded,
                                const analysis::RunData& data,
                                const analysis::RunAnalysis* known = nullptr);

}  // namespace lockstep::diagnosis

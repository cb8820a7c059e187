#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/RecordedSteps.h"
#include "engine/base/Result.h"
#include "engine/cost/StepChange.h"

namespace lockstep::cli {

/// What `lockstep whatif` is asked to change; what is none stays.
struct WantedChange {
  std::optional<double> capMb;
  std::vector<double> capListMb;
  std::string link;  ///< of linkPresets(); empty: none
  std::optional<double> bandwidthGbps;
  std::optional<double> latencyUs;
  std::optional<int> inFlight;
  std::string hookOf;  ///< a run file
  std::optional<double> computeFactor;
  std::optional<int> withoutExcessOf;  ///< a rank
};

/// The same as a replay takes it.
struct ReadyChange {
  cost::StepChange change;
  std::vector<std::string> parts;  ///< "cap 4 MiB", "10 Gbit/s", "2 in flight"
  std::string hook;                ///< name of the other one
  experiment::LinkConfig link;     ///< the run's, with what is changed
};

/// Returns what is wanted of the run of `last`. Errors: those of other runs' files; of options;
/// and, with `path` as their place, clauses that say why the run cannot tell.
base::Result<ReadyChange> readyChange(const WantedChange& wanted,
                                      const analysis::RecordedSteps& recorded,
                                      const analysis::LastSteps& last, const std::string& path);

/// Returns a run as a forecast takes it, with what its own hook works where it has one of its own.
cost::RecordedRun recordedRunOf(const analysis::RecordedSteps& recorded,
                                const analysis::LastSteps& last);

}  // namespace lockstep::cli

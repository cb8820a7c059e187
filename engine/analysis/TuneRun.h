#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/RecordedHook.h"
#include "engine/analysis/RecordedSteps.h"
#include "engine/base/Result.h"
#include "engine/cost/Forecaster.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::analysis {

// Note [The search of a tuner]
// What a setting comes to is told by a replay (Note [A change to a step]), which takes a
// millisecond, and so all are tried that the run can tell of:
//   in flight   1, 2 and 4, where the run's link is modelled
//   views       gradient_as_bucket_view, where results are copied out
//   hook        those of which a run was given, and the engine's own allreduce
//   buckets     with each combination of these: the run's own, a cap of a list of them, and the
//               cuts of Note [Tuned buckets] by what a transfer then costs
// Of each combination the buckets count whose replayed steps are the shortest. One that is no
// better, by a thousandth, than another with fewer settings is left out.

/// Settings in place of the run's.
struct TunedSettings {
  std::optional<double> capMb;
  std::optional<double> firstCapMb;
  std::vector<double> capList;  ///< MiB; empty: no list
  std::optional<int> inFlight;
  bool views = false;
  std::optional<experiment::HookConfig> hook;

  [[nodiscard]] bool isOwn() const { return count() == 0; }
  [[nodiscard]] std::size_t count() const;
  /// "cap 4 MiB, 2 in flight"; "the run's own".
  [[nodiscard]] std::string text() const;
  /// As lines of an experiment: "ddp.bucket_cap_mb = 4".
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] experiment::Experiment appliedTo(experiment::Experiment own) const;
};

struct TuneCandidate {
  std::string rule;  ///< "run", "cap", "mg-wfbp", "exact": whence its buckets are
  TunedSettings settings;
  cost::StepChange change;
  double replayedStepNs = 0;  ///< mean of all ranks
  std::vector<cost::RankForecast> ranks;

  [[nodiscard]] std::size_t buckets() const { return change.buckets->size(); }
  /// The step of all ranks in the mean, with the ends of its interval.
  [[nodiscard]] cost::Estimate stepNs() const;
  /// Whether each rank's steps would surely get shorter.
  [[nodiscard]] bool isSurelyBetter() const;
};

/// Returns the run as it is, and then at most `most` others, the shortest replayed step first.
/// `hooks` are of other runs. Error: a clause that ends "this run cannot tell, because ...".
/// [any-thread]
base::Result<std::vector<TuneCandidate>> tuneCandidates(const RecordedSteps& recorded,
                                                        const cost::Forecaster& forecaster,
                                                        const std::vector<RecordedHook>& hooks,
                                                        std::size_t most = 8);

}  // namespace lockstep::analysis

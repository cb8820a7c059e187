#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/TuneRun.h"
#include "engine/base/Result.h"
#include "engine/cost/BlockBootstrap.h"

namespace lockstep::cli {

// Note [Runs in alternation]
// What a machine does meanwhile would be taken for an effect, were all runs of one setting before
// those of the next. So each round runs every setting once, every other round in the opposite
// order, and each is set against the run's own settings in its own round: the ratio of their median
// steps. Its interval is that of the pairs' mean (analysis::pairedRatio), 99 % for all settings
// together: with k of them each may miss with a k-th of 1 %.
//
// How many rounds it takes depends on the machine. So it is looked at after a third, after two
// thirds and after all of those that are allowed, and what can be told ends it (isTold). As an
// interval may miss each time that it is looked at, it may do so with a third of that
// (Bonferroni's rule).

struct RoundsOptions {
  int rounds = 15;               ///< at most
  int steps = 40;                ///< of each run
  std::filesystem::path folder;  ///< for the run files; empty: they are not kept
  bool quiet = false;
};

/// Settings, and what their runs came to.
struct MeasuredSettings {
  analysis::TunedSettings settings;
  std::vector<double> stepMs;  ///< of each round, the median over its iterations
  /// To the run's own settings; none of those themselves.
  std::optional<cost::MeanInterval> ratio{};

  [[nodiscard]] bool isFaster() const { return ratio && ratio->high < 1; }
};

/// Runs number `number` of the settings once, in round `round`, both from 0; returns the median of
/// its steps in ms.
using RunOnce = std::function<base::Result<double>(const analysis::TunedSettings& settings,
                                                   int round, std::size_t number)>;

/// Runs all settings, the first of which the others are set against, in rounds until it is told
/// which are faster, or all rounds are done. Error: that of a run.
base::Result<std::vector<MeasuredSettings>> inRounds(std::vector<MeasuredSettings> all, int most,
                                                     const RunOnce& runOnce);

/// Whether more rounds would change nothing: no settings that were not faster beyond noise may be
/// faster than the fastest, or by a hundredth than the run's own where none are.
bool isTold(const std::vector<MeasuredSettings>& measured);

/// Runs an experiment with its own settings, which come first, and with each of `others`. Error: a
/// run that did not end well.
base::Result<std::vector<MeasuredSettings>> runInRounds(
    const experiment::Experiment& own, const std::vector<analysis::TunedSettings>& others,
    const RoundsOptions& options);

/// Returns the fastest of those that are faster beyond noise; null: none is.
const MeasuredSettings* winnerOf(const std::vector<MeasuredSettings>& measured);

/// A sentence: which settings won, or that there is no difference beyond noise.
std::string verdictText(const std::vector<MeasuredSettings>& measured);

}  // namespace lockstep::cli

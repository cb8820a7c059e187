#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "engine/analysis/RecordedSteps.h"
#include "engine/base/Result.h"
#include "engine/cost/Forecaster.h"
#include "engine/trace/RunFile.h"
#include "ui/model/RunAnalyser.h"

namespace lockstep::ui {

/// What a run tells to forecasts of it, made of its analysis once for all that is asked. Never
/// changed once made. [any-thread]
struct WhatIfRun {
  std::shared_ptr<const AnalysedRun> run;
  std::vector<trace::RankInfo> ranks;
  QString refused;  ///< a sentence: no change of it is forecast, whatever it recorded; empty: it is
  // Errors: clauses that end "this run cannot tell, because ...".
  base::Result<analysis::RecordedSteps> recorded{base::Error{}};
  base::Result<cost::Forecaster> forecaster{base::Error{}};
  std::vector<double> tunedMb;  ///< where the tuner would end its buckets, in MiB; empty: not known

  /// The cap of the run; nothing where it has none that can be changed.
  [[nodiscard]] std::optional<std::uint64_t> ownCap() const;
  /// The smallest parameter, which would have a bucket of its own, and all of them.
  [[nodiscard]] std::uint64_t leastCap() const;
  [[nodiscard]] std::uint64_t mostCap() const;
};

/// `path` is named in what is said of its experiment.
std::shared_ptr<const WhatIfRun> whatIfRun(std::shared_ptr<const AnalysedRun> run,
                                           const trace::RunInfo& info,
                                           std::vector<trace::RankInfo> ranks,
                                           const std::filesystem::path& path);

/// Returns an error of a forecast as a sentence.
QString cannotTellSentence(const base::Error& error);

}  // namespace lockstep::ui

#pragma once

#include <string>
#include <vector>

#include "app/cli/TuneRuns.h"
#include "engine/analysis/TuneRun.h"
#include "engine/cost/Forecaster.h"

namespace lockstep::cli {

/// Buckets by a rule.
struct Cut {
  std::string name;
  std::vector<cost::PlannedBucket> plan;
  std::vector<cost::RankForecast> ranks;
  std::string whyNot;  ///< empty: the forecast is known

  /// As ddp.bucket_cap_mb_list takes it; exact, since a MiB is a power of two.
  [[nodiscard]] std::vector<double> caps() const;
};

/// What `lockstep tune` found.
struct Tuning {
  std::size_t steps = 0;
  cost::TransferFit fit;
  std::vector<cost::RankForecast> own;              ///< Forecaster::own
  std::vector<Cut> cuts;                            ///< the run's own, then by each rule
  std::vector<analysis::TuneCandidate> candidates;  ///< the run's own, then the best first
  experiment::Experiment experiment;                ///< the run's
  std::vector<MeasuredSettings> measured{};         ///< empty: nothing was run
};

std::string tuningJson(const Tuning& tuning);

/// The cuts as a table, with the list of those by `rule`; then the candidates.
std::string tuningText(const Tuning& tuning, const std::string& rule);

/// What was run, and who won.
std::string measuredText(const Tuning& tuning);

}  // namespace lockstep::cli

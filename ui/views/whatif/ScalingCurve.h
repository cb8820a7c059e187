#pragma once

#include <QString>
#include <vector>

#include "engine/diagnosis/WantedChange.h"
#include "engine/simulate/Scaling.h"
#include "ui/views/whatif/WhatIfRun.h"

namespace lockstep::ui {

/// What a step of a run would take on more ranks, up to thousands, and where that breaks. Never
/// changed once made. [any-thread]
struct ScalingCurve {
  QString whyNot;    ///< a sentence; empty: all of the rest is known
  QString link;      ///< which other link; empty: the run's own
  int recorded = 0;  ///< ranks
  simulate::Algorithm algorithm = simulate::Algorithm::kFastest;
  std::size_t steps = 0;  ///< that were recorded
  simulate::RanksForecast measured;
  std::vector<simulate::RanksForecast> rows;  ///< ascending, the recorded ranks first
  simulate::BreakingPoint breaks;
  QString tail;  ///< a sentence; empty where a step has no more ranks than were seen

  [[nodiscard]] bool known() const { return whyNot.isEmpty() && !rows.empty(); }
  /// Whether it cannot tell, and a forecast has said already why the run cannot.
  [[nodiscard]] bool addsNothingTo(const QString& reason) const {
    return !known() && !reason.isEmpty();
  }
  /// Null: nothing is forecast of so many.
  [[nodiscard]] const simulate::RanksForecast* of(int ranks) const;
};

/// The numbers of ranks that a curve is made for: more than were recorded.
std::vector<int> scaledRanks(int recorded);

/// Takes seconds. Of `wanted` the link counts, which is between nodes then.
ScalingCurve scalingCurve(const WhatIfRun& run, const diagnosis::WantedChange& wanted,
                          simulate::Algorithm algorithm = simulate::Algorithm::kFastest);

/// Where it breaks, and what is extrapolated beyond what was seen.
QString scalingWords(const ScalingCurve& curve);
/// What a step takes on so many ranks, with its intervals.
QString rankWords(const ScalingCurve& curve, int ranks);

}  // namespace lockstep::ui

#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/cost/Forecaster.h"
#include "engine/diagnosis/WantedChange.h"
#include "ui/model/ForecastIteration.h"
#include "ui/views/whatif/WhatIfRun.h"

namespace lockstep::ui {

/// What a rank computed in an iteration, ns since the first rank began it.
struct ComputingLane {
  std::vector<cost::Stretch> computing;
  double lastGradientNs = 0;
  double endNs = 0;  ///< of the iteration
};

/// What a run would have been with something changed, beside what it was, and how one iteration of
/// it would have gone (Note [The replay of a step]). Never changed once made. [any-thread]
struct WhatIf {
  QString whyNot;          ///< a sentence; empty: all of the rest is known
  QString own;             ///< "cap 4 MiB", or that it was a list
  QStringList parts;       ///< what is changed: "cap 8 MiB", "2 in flight"; empty: nothing
  bool ofCap = false;      ///< nothing else than the cap, if anything
  bool otherLine = false;  ///< something else carries the buckets, or others
  QString ofHook;          ///< what is taken of a hook that was verified; else empty
  QString ofCores;         ///< that they are short; else empty
  std::size_t steps = 0;   ///< that were replayed
  std::size_t inFlight = 1;
  cost::TransferFit fit;
  cost::Line line;             ///< of the forecast
  std::uint32_t step = 0;      ///< the iteration
  cost::StepOutcome measured;  ///< of it, ns since the first rank began it
  cost::StepOutcome wanted;
  ComputingLane measuredLane;  ///< of the rank that is spoken of
  ComputingLane wantedLane;
  std::vector<cost::PlannedBucket> plan;
  std::vector<cost::RankForecast> ranks;  ///< of all iterations that were replayed
  /// The run's with the change; none: no setting makes it so.
  std::optional<experiment::Experiment> experiment;

  [[nodiscard]] bool known() const { return whyNot.isEmpty(); }
  /// The rank that is spoken of: the one with the most exposed time, for that is what a change
  /// could shorten. Of a known one.
  [[nodiscard]] const cost::RankForecast& spoken() const;
  /// In how many rows buckets of an iteration stand, so that those beside each other do not cover.
  [[nodiscard]] std::size_t rows() const;
};

/// Returns its iteration as all views may draw it, which began at `originNs`; null: nothing is
/// changed, or known.
std::shared_ptr<const ForecastIteration> forecastIteration(const WhatIf& told, double originNs);

/// `step`: the iteration to be shown; none, or not one of those that are replayed: one of middle
/// length.
WhatIf whatIf(const WhatIfRun& run, const diagnosis::WantedChange& wanted,
              std::optional<std::uint32_t> step = std::nullopt);

/// "0.48 MiB", whatever its size, as the experiment gives it.
QString capText(std::uint64_t bytes);

/// "Forecast, cap 8 MiB, 2 in flight", or that nothing is changed.
QString forecastName(const WhatIf& told);

/// What was measured, the same replayed, and the forecast, one a row: what it is, buckets, exposed
/// time and length of an iteration, of the rank with the most exposed time.
std::vector<QStringList> outcomeRows(const WhatIf& told);
QStringList outcomeTitles(const WhatIf& told);
/// Both as a table, figures bold.
QString outcomesAsHtml(const WhatIf& told);

/// Where exposed time and step time of that rank would go, or that it cannot be said.
QString verdict(const WhatIf& told);

/// What the forecast assumes, with the fit and its error.
QString assumptions(const WhatIf& told);

/// The same and the outcomes in words, for who cannot see them.
QString spokenSummary(const WhatIf& told);

}  // namespace lockstep::ui

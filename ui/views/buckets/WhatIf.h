#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/Forecaster.h"
#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {

/// What a run would have been with another bucket cap, beside what it was, and how one iteration of
/// it would have gone (Note [The replay of a step]). Never changed once made. [any-thread]
struct WhatIf {
  QString whyNot;  ///< a sentence; empty: all of the rest is known
  std::uint64_t ownCapBytes = 0;
  std::uint64_t capBytes = 0;
  QString link;           ///< which other link, or number in flight; empty: the run's own
  std::size_t steps = 0;  ///< that were replayed
  std::size_t inFlight = 1;
  cost::TransferFit fit;
  cost::Line line;  ///< of the forecast
  cost::StepOutcome measured;  ///< of the iteration, ns since the first rank began it
  cost::StepOutcome wanted;    ///< of the iteration, at `capBytes`
  std::vector<cost::PlannedBucket> plan;
  double lastGradientNs = 0;              ///< of the iteration, on the last rank
  std::vector<cost::RankForecast> ranks;  ///< of all iterations that were replayed

  [[nodiscard]] bool known() const { return whyNot.isEmpty(); }
};

/// The cap of the run; nothing where it has none that can be changed.
std::optional<std::uint64_t> ownCap(const BucketStory& story);

/// `forecaster` is made of this iteration and others with the same buckets; none: those are still
/// being read. `link`: another one than the run's, which `linkText` names.
WhatIf whatIf(const BucketStory& story,
              const std::optional<base::Result<cost::Forecaster>>& forecaster,
              std::uint64_t capBytes,
              const std::optional<experiment::LinkConfig>& link = std::nullopt,
              const QString& linkText = {});

/// "0.48 MiB", whatever its size, as the experiment gives it.
QString capText(std::uint64_t bytes);

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

#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/analysis/WhatIfCap.h"
#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {

/// What one iteration would have been with another bucket cap, beside what it was
/// (Note [What if the cap were another]). Never changed once made. [any-thread]
struct WhatIf {
  QString whyNot;  ///< a sentence; empty: all of the rest is known
  std::uint32_t step = 0;
  std::uint64_t originTicks = 0;
  double nsPerTick = 1;
  std::uint64_t ownCapBytes = 0;
  std::uint64_t capBytes = 0;
  analysis::CommunicationCost cost;
  analysis::LaunchHabits habits;
  analysis::CapOutcome measured;
  analysis::CapOutcome own;     ///< the forecast at the cap of the run
  analysis::CapOutcome wanted;  ///< the forecast at `capBytes`

  [[nodiscard]] bool known() const { return whyNot.isEmpty(); }
  [[nodiscard]] double ns(double ticks) const { return ticks * nsPerTick; }
  /// Since the first rank began the iteration.
  [[nodiscard]] double atNs(std::uint64_t ticks) const {
    return static_cast<double>(static_cast<std::int64_t>(ticks - originTicks)) * nsPerTick;
  }
};

/// The story as the analysis takes it; nothing where the experiment of the run cannot be read.
std::optional<analysis::MeasuredStep> measuredStep(const BucketStory& story);

/// The cap of the run; nothing where it has none that can be changed.
std::optional<std::uint64_t> ownCap(const BucketStory& story);

/// `samples` are of this iteration and of others with the same buckets.
WhatIf whatIf(const BucketStory& story, const std::vector<analysis::CostSample>& samples,
              std::uint64_t capBytes);

/// "0.48 MB" as the experiment counts it: 2^20 bytes.
QString capText(std::uint64_t bytes);

/// The three outcomes, one a row: what it is, buckets, in flight, exposed, overlap, end.
std::vector<QStringList> outcomeRows(const WhatIf& told);
QStringList outcomeTitles();
/// Both as a table, figures bold.
QString outcomesAsHtml(const WhatIf& told);

/// What the forecast assumes, with the fit and its error.
QString assumptions(const WhatIf& told);

/// The same and the outcomes in words, for who cannot see them.
QString spokenSummary(const WhatIf& told);

}  // namespace lockstep::ui

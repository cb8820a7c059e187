#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "engine/analysis/NewSpans.h"
#include "engine/analysis/RankActivity.h"
#include "engine/analysis/RunAnalysis.h"

namespace lockstep::analysis {

// Note [Figures of closed steps]
// A figure that is made step by step need not be made anew while a run grows: what it has of closed
// steps (Note [A run that grows]) is kept, and what that was made of is forgotten, but for what
// reaches into a step that is open. So a look at it costs what came since the last one, and the
// steps that are open. All of it is made anew where something comes that belongs to what is kept;
// where what it was made with is another, the verdict who is late, the rate of the clock by more
// than a millionth, the hypervisor's share of the time by more than a thousandth; and once when the
// run has ended, so that its last word is exact.

/// What figures of closed steps were made with.
class FigureBasis {
 public:
  FigureBasis() = default;
  FigureBasis(const RunData& data, const RunAnalysis& run)
      : more_(run.closed.more),
        anew_(run.closed.anew),
        firstMeasured_(run.warmUp.firstMeasured),
        nsPerTick_(data.clock.nsPerTick),
        stolenShare_(run.stolenShare),
        judged_(!run.lateness.empty()) {
    for (const RankLateness& rank : run.lateness) {
      if (rank.late) {
        late_.push_back(rank.rank);
      }
    }
  }

  [[nodiscard]] double nsPerTick() const { return nsPerTick_; }
  [[nodiscard]] double stolenShare() const { return stolenShare_; }
  /// Whether figures made with the one are right with the other.
  [[nodiscard]] bool like(const FigureBasis& other) const {
    return more_ == other.more_ && anew_ == other.anew_ && firstMeasured_ == other.firstMeasured_ &&
           waitRate(nsPerTick_) == waitRate(other.nsPerTick_) && judged_ == other.judged_ &&
           late_ == other.late_ && std::abs(stolenShare_ - other.stolenShare_) < 1e-3;
  }

 private:
  bool more_ = false;
  int anew_ = 0;
  std::uint32_t firstMeasured_ = 0;
  double nsPerTick_ = 1;
  double stolenShare_ = 0;
  bool judged_ = false;
  std::vector<int> late_;
};

/// Where the entries of steps from `next` on begin in a list whose closed steps are all below it.
template <typename Row>
std::size_t firstOfStep(const run::Grown<Row>& rows, std::uint32_t next) {
  std::size_t first = rows.size();
  while (first > 0 && rows[first - 1].step >= next) {
    --first;
  }
  return first;
}

/// Takes the rows of steps below `next` out; neither they nor the others change their order.
template <typename Row>
std::vector<Row> takeBelow(std::vector<Row>& rows, std::uint32_t next) {
  const auto later = std::stable_partition(rows.begin(), rows.end(),
                                           [next](const Row& row) { return row.step < next; });
  std::vector<Row> taken(std::move_iterator(rows.begin()), std::move_iterator(later));
  rows.erase(rows.begin(), later);
  return taken;
}

/// What all of them keep: which spans they have looked at, and of which steps they keep figures.
class GrowingFigure {
 protected:
  /// Calls `take` with the rank and the span of all that is new, which returns false where it
  /// belongs to what is kept. Returns false where all has to be made anew.
  template <typename Take>
  bool goOn(const RunData& data, const RunAnalysis& run, const Take& take) {
    const FigureBasis basis(data, run);
    if (!spans_.any()) {
      basis_ = basis;
    }
    bool right = basis.like(basis_) && run.closed.next >= next_;
    const bool goesOn = spans_.take(
        data, [&](int rank, const trace::SpanRow& span) { right = take(rank, span) && right; });
    return goesOn && right;
  }

  NewSpans spans_;
  FigureBasis basis_;
  std::uint32_t next_ = 0;  // figures of steps below it are kept
};

}  // namespace lockstep::analysis

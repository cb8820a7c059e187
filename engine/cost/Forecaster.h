#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/Estimate.h"
#include "engine/cost/RecordedRun.h"

namespace lockstep::cost {

// Note [The interval of a forecast]
// A forecast is the median over the steps' replays (Note [The replay of a step]), for each rank.
// Its interval is what a run so changed is expected to measure in nine cases of ten. Both
// ways it reaches as far as these together, the root of the sum of their squares, since none of
// them follows from another:
//   - from the forecast to the 5th or the 95th percentile of the forecasts of steps drawn anew, in
//     blocks, with the cost fitted to what those steps measured alone;
//   - as much as the replay of the run's own buckets misses what was measured, in proportion where
//     the forecast is larger;
//   - as much as the medians of the run's thirds differ: what its machine did meanwhile it does
//     during another run, too;
//   - 1 % of the step for exposed time and 4 % for the step: Note [Two runs of one experiment].
//     `tests/bench/run forecasts` counts how many runs it holds;
//   - a tenth of how far the forecast is from the replay of what was measured: what transfers of
//     other sizes, another link or other computing take was not seen in this run (Note [A change
//     to a step]). And of a hook, for each bucket, what half of its calls differ by, and of the run
//     that it is of all that is said of this one: by how much its replay misses, how its thirds
//     differ, and what two runs differ by, since the forecast rests on two;
//   - half of what it is held up where cores are short (Note [Where cores are short]).
// There is none, but a reason, where the run cannot tell: fewer than 5 whole steps; sizes of
// transfers that differ too little (Note [What a transfer costs]); buckets beyond 4 times the
// largest transfer that was measured, unless settings say what a byte takes; transfers that took
// no longer for more bytes, and larger ones are asked for; or a replay of the run's own buckets
// that misses by more than a tenth of exposed time (and 3 % of the step), or 5 % of the step.

struct RankForecast {
  int rank = 0;
  double measuredExposedNs = 0;  ///< medians over the steps, here and below
  double measuredStepNs = 0;
  double replayedExposedNs = 0;  ///< with the run's own buckets
  double replayedStepNs = 0;
  double driftExposedNs = 0;  ///< between the thirds of the run with the least and the most
  double driftStepNs = 0;
  double heldUpNs = 0;  ///< of the forecast, where cores are short: exposed as well
  Estimate exposedNs;
  Estimate stepNs;
};

/// Forecasts one run's steps with something changed. Never changed once made. [any-thread]
class Forecaster {
 public:
  /// Error: a clause that ends "this run cannot tell, because ...".
  static base::Result<Forecaster> make(RecordedRun run);

  /// Returns one forecast a rank. Error: as above.
  [[nodiscard]] base::Result<std::vector<RankForecast>> forecast(const StepChange& change) const;
  /// The same with other buckets. `share`: the part of their bytes that travels; 1 as the run did
  /// it.
  [[nodiscard]] base::Result<std::vector<RankForecast>> forecast(
      const std::vector<PlannedBucket>& plan, double share = 1) const;

  /// Returns what carries the transfers with a change, and how ranks work. Error: as above.
  [[nodiscard]] base::Result<Line> lineOf(const StepChange& change) const;
  [[nodiscard]] std::vector<RankHabits> habitsOf(const StepChange& change) const;
  /// Returns what the mean step of all ranks would take, in ns: cheaper than a forecast, and
  /// without an interval. Error: as above.
  [[nodiscard]] base::Result<double> replayedStepNs(const StepChange& change) const;

  /// Returns the most bytes that a bucket of a forecast may have; nothing: any number.
  [[nodiscard]] std::optional<std::uint64_t> mostBytes() const;

  /// Returns what was measured and replayed, by rank; its estimates are empty.
  [[nodiscard]] const std::vector<RankForecast>& own() const { return own_; }
  [[nodiscard]] const TransferFit& fit() const { return fit_; }
  [[nodiscard]] const Line& line() const { return line_; }
  [[nodiscard]] const std::vector<RankHabits>& habits() const { return habits_; }
  [[nodiscard]] const std::vector<StepRecord>& steps() const { return run_.steps; }
  [[nodiscard]] const RecordedRun& run() const { return run_; }

 private:
  Forecaster() = default;
  [[nodiscard]] std::vector<TransferSample> samplesOf(const std::vector<std::size_t>& steps) const;
  [[nodiscard]] base::Status replaysItself() const;
  [[nodiscard]] base::Status speaksOf(const std::vector<PlannedBucket>& plan) const;
  [[nodiscard]] double middleBytes() const;
  [[nodiscard]] double heldUp(const StepChange& change, const std::vector<PlannedBucket>& plan,
                              double ownStepNs, double stepNs) const;

  RecordedRun run_;
  TransferFit fit_;
  std::optional<Backend> backend_;
  Line line_;
  std::vector<RankHabits> habits_;
  std::vector<RankForecast> own_;
};

}  // namespace lockstep::cost

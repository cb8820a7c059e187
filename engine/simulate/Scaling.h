#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/Estimate.h"
#include "engine/cost/Forecaster.h"
#include "engine/simulate/CollectiveModel.h"
#include "engine/simulate/RankNoise.h"
#include "engine/simulate/RecordedRanks.h"
#include "engine/simulate/Simulation.h"

namespace lockstep::simulate {

// Note [How far a simulation is to be trusted]
// A figure is the median over the simulated steps of the mean over the ranks. Its interval is that
// of a forecast (Note [The interval of a forecast]), with these draws: the recorded steps are drawn
// anew in blocks and the ranks with them; the cost of a transfer, the noise of the ranks and its
// tail are fitted to them anew; where no settings tell the link, a part of its latency between none
// and all is taken for hops; and other random numbers simulate. By how much the simulation of the
// recorded ranks misses what was measured widens the interval, in proportion.
//
// Everything beyond the recorded number of ranks is extrapolated, and said to be. What no recording
// of few ranks shows is in none of it: congestion, and ranks or hosts of another kind.

/// What makes a step longer than its own work.
enum class Bound {
  kOwnWork,  ///< nothing to speak of
  kBandwidth,
  kLatency,
  kStragglers,
};
std::string_view name(Bound bound);  // "own work", "bandwidth", "latency", "stragglers' jitter"

/// What a step takes on so many ranks; ns.
struct RanksForecast {
  int ranks = 0;
  cost::Estimate stepNs;
  cost::Estimate exposedNs;
  cost::Estimate efficiency;  ///< the step without communication and waiting, of the step; 0 to 1
  Bound bound = Bound::kOwnWork;
  // What a step would take less on links without limit, without latency, and if all ranks took as
  // long as the mean one.
  double bandwidthNs = 0;
  double latencyNs = 0;
  double stragglersNs = 0;
  Algorithm by = Algorithm::kRing;  ///< carries most of the bytes
  bool extrapolated = false;        ///< more ranks than were recorded
  bool beyondSample = false;        ///< a step has more ranks than the recording has rank-steps
};

/// From which number of ranks on the efficiency is below a bound.
struct BreakingPoint {
  double efficiency = 0;
  std::optional<double> ranks;    ///< none: not up to the largest number that was asked for
  std::optional<double> low;      ///< the same of the low ends of the efficiency: at the soonest
  std::optional<double> high;     ///< of the high ends
  Bound bound = Bound::kOwnWork;  ///< there
};

struct ScalingQuestion {
  cost::RecordedRun run;
  std::optional<cost::LinkOptions> settings;  ///< of a shaped link
  std::optional<double> share;                ///< of a bucket's bytes that travels; none: not known
  std::optional<cost::HookWork> hook;         ///< in place of the run's own
  std::vector<int> hosts;                     ///< by rank; empty: all on one
  std::vector<int> ranks;        ///< to be told of, ascending; none fewer than recorded
  std::optional<LinkCost> link;  ///< between nodes, in place of the run's own
  std::optional<int> ranksPerNode;
  Algorithm algorithm = Algorithm::kFastest;
  std::size_t steps = 64;
  std::uint64_t seed = 0;
  double efficiency = 0.8;  ///< BreakingPoint::efficiency
};

/// How a recording is simulated on other numbers of ranks. Never changed once made. [any-thread]
class Scaling {
 public:
  /// Error: a clause that ends "this run cannot tell, because ...".
  static base::Result<Scaling> make(ScalingQuestion question);

  /// Returns a forecast for each number of ranks that was asked for.
  [[nodiscard]] std::vector<RanksForecast> forecast() const;

  /// Returns what was measured: figures as those of a forecast, without intervals.
  [[nodiscard]] const RanksForecast& measured() const { return measured_; }
  /// Returns what the simulation makes of the recorded ranks themselves.
  [[nodiscard]] const RanksForecast& simulated() const { return simulated_; }

  [[nodiscard]] const cost::TransferFit& fit() const { return forecaster_.fit(); }
  [[nodiscard]] const RankNoise& noise() const { return noise_; }
  [[nodiscard]] const RecordedRanks& recorded() const { return recorded_; }
  [[nodiscard]] const ScalingQuestion& question() const { return question_; }
  [[nodiscard]] const std::vector<cost::StepRecord>& steps() const { return forecaster_.steps(); }
  /// The network of the forecasts.
  [[nodiscard]] const Network& network() const { return network_; }

  /// Returns how so many ranks are simulated.
  [[nodiscard]] SimulationSettings settingsFor(int ranks) const;

 private:
  struct Drawn;
  explicit Scaling(ScalingQuestion question, cost::Forecaster forecaster)
      : question_(std::move(question)), forecaster_(std::move(forecaster)) {}
  [[nodiscard]] Network networkWith(const cost::TransferFit& fit, double hopShare) const;
  [[nodiscard]] RanksForecast forecast(int ranks, const std::vector<Drawn>& drawn) const;
  [[nodiscard]] std::vector<Drawn> draw() const;
  [[nodiscard]] RankNoise noiseOf(const RecordedRanks& recorded) const;
  void measure();

  ScalingQuestion question_;
  cost::Forecaster forecaster_;
  RecordedRanks recorded_;
  RankNoise noise_;
  Network network_;
  RanksForecast measured_;
  RanksForecast simulated_;
};

/// Returns where the efficiency falls below `efficiency`, between two numbers of ranks in
/// proportion to their logarithms. `rows`: ascending, the recorded ranks first.
BreakingPoint breakingPoint(const std::vector<RanksForecast>& rows, double efficiency);

}  // namespace lockstep::simulate

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/simulate/CollectiveModel.h"
#include "engine/simulate/RankNoise.h"
#include "engine/simulate/RecordedRanks.h"

namespace lockstep::simulate {

// Note [A simulated step]
// Each of the ranks does a step of a recorded rank (rank i one of recorded rank i modulo their
// number), stretched so that its own work is what was drawn for it (Note [How ranks differ]). Then,
// as in the replay of a step:
//   began   when the rank comes to a bucket, as its own work has it
//   met     the latest of that over all ranks; nothing else of the others counts for a rank
//   ended   the line carries the buckets from there on, each as long as a CollectiveModel says
//   taken   each rank's step thread copies the results out in turn
// and a rank begins the next step when it ended this one. Taking results in turn is the later of
// two times: where the rank was free, plus all copies; and for each bucket, its end plus the copies
// from there on. The second is the same for all ranks with the same habits, so that a rank costs a
// maximum and a sum for each bucket, once for `met` and once for what is exposed. A hook works on
// the buckets in turn before they begin, and in turn again once they have ended; that the same
// thread does both is left out.
//
// Exposed is a bucket's flight while the rank does not compute (Note [Overlap]): all of it after
// the last gradient; before that the part of the time that the recorded step did not compute
// either.

struct SimulationSettings {
  int ranks = 2;
  Network network;
  Algorithm algorithm = Algorithm::kFastest;
  std::size_t inFlight = 1;  ///< cost::Line::inFlight
  double noticeNs = 0;       ///< cost::TransferCost::noticeNs
  double share = 1;          ///< the part of each bucket's bytes that travels
  std::size_t steps = 64;
  std::uint64_t seed = 0;
  bool allAlike = false;  ///< each rank's own work is the mean of all, and what all of a step share
};

/// Means over the ranks, by step; ns.
struct SimulatedSteps {
  std::vector<double> stepNs;
  std::vector<double> exposedNs;
  std::vector<double> aloneNs;  ///< the rank's step without communication and without the others
};

/// One simulated step, as it is handed out; valid during the call. Times are ns from the begin of
/// the simulation.
struct StepView {
  std::size_t step = 0;
  const std::vector<double>& beginNs;     ///< by rank
  const std::vector<double>& stretch;     ///< by rank, of its own step up to `waitsNs`
  const std::vector<std::uint32_t>& own;  ///< by rank: the number of its own step
  const std::vector<double>& metNs;       ///< by bucket
  const std::vector<double>& endedNs;     ///< by bucket
  const std::vector<double>& endNs;       ///< by rank
};

/// Simulates `steps` steps after one that is not counted, since its ranks begin together.
/// [any-thread]
SimulatedSteps simulate(const RecordedRanks& recorded, const RankNoise& noise,
                        const SimulationSettings& settings,
                        const std::function<void(const StepView&)>& watch = {});

}  // namespace lockstep::simulate

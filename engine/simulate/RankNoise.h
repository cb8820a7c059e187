#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/simulate/ParetoTail.h"

namespace lockstep::simulate {

// Note [How ranks differ]
// What a rank does by itself in a step, without waiting for anybody, is taken apart as
//
//   own work = mean + effect of the rank + common of the step + residual
//
// The effect is the mean of the rank over its steps, less that of all. Its variance among ranks is
// that of the ranks' means beyond what the residuals alone make them differ by, none within chance.
// With several ranks on each of several hosts, it is the sum of an effect of the host and one of
// the rank in it.
//
// What all ranks of a step share, as a longer batch or a busy filesystem, no rank waits for. Its
// part of the variance is the correlation between ranks, 0 where that is within chance, and of a
// step it is estimated by the ranks' mean, shrunk accordingly (the best linear prediction of a
// random effect, Henderson 1975). The residuals are what is left, scaled to the variance that is
// left: shrinking takes some of it.
//
// A simulated rank is drawn: the recorded ranks stand for themselves, more of them have effects
// drawn from a normal distribution of the same variance. Their residuals follow a recorded rank's
// in blocks of about sqrt(steps) steps (Note [Block bootstrap]), since slow moments come together.
// One among the largest, those above the threshold of a ParetoTail fitted to the residuals of all
// ranks, is replaced by one drawn from that tail: the latest of 4096 ranks is later than any
// that 2 ranks showed in 64 steps, and how much later is what the tail says.

/// By rank, then by step; ns.
using OwnWork = std::vector<std::vector<double>>;

struct RankNoise {
  double meanNs = 0;
  std::vector<double> effectNs;    ///< by recorded rank
  double rankSpreadNs = 0;         ///< standard deviation of effects beyond chance
  double hostSpreadNs = 0;         ///< of the hosts' part of them; 0 where hosts are not known
  std::vector<std::size_t> steps;  ///< the fitted ones, as recorded: "position" counts them
  std::vector<double> commonNs;    ///< by position
  OwnWork residualNs;              ///< by rank, then by position
  std::optional<ParetoTail> tail;  ///< of the residuals; none: too few, or all alike
};

/// Fits the noise of `work` to these of its steps, in this order, which has to be that of the
/// recording or drawn from it in blocks. `hosts`: by rank; empty: not known. `ranks` are those
/// whose spread counts, some perhaps several times: all, or drawn from them.
RankNoise fitNoise(const OwnWork& work, const std::vector<std::size_t>& steps,
                   const std::vector<int>& hosts, const std::vector<std::size_t>& ranks);

}  // namespace lockstep::simulate

#pragma once

#include <vector>

namespace lockstep::cost {

/// What another run is expected to measure, in nine cases of ten from `low` to `high`.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Note [Two runs of one experiment]
// What no single run knows: the next one finds its ranks, threads and timers in another state. Of
// 66 pairs of runs with the same settings, minutes apart (two rounds of `tests/bench/run forecasts
// --only buckets --keep FOLDER`, four models, 2 cores), nine in ten differed in the median of
// exposed time by at most 0.6 % of the step, and in that of the step by 3 %; on the model whose
// runs differ most, by 1.0 and 4.1 %, and those are taken.
// As a part of the step: exposed time is what is left of the time in flight without what was
// computed meanwhile, and those two go on differing when little is left. Of exposed time itself,
// nine pairs in ten differed by at most 1.3 % where 74 of 228 ms are exposed, and by 10 % where 7
// of 118 are.

/// How far a forecast reaches beyond what its draws say (Note [The interval of a forecast]).
struct Doubt {
  double missed = 0;      ///< by a replay of what was measured
  double replayed = 1;    ///< what that replay came to, or what is worth speaking of
  double drift = 0;       ///< between parts of the run
  double runsDiffer = 0;  ///< two runs of the same settings, by experience
};

// By how much two runs of the same settings differ, as a part of the step: Note [Two runs of one
// experiment].
inline constexpr double kRunsDifferExposed = 0.01;
inline constexpr double kRunsDifferStep = 0.04;
/// Of how far a forecast is from the replay of what was measured: so much may be wrong.
inline constexpr double kOfHowFarItMoves = 0.1;
/// Of a step: errors of a part of it grow in proportion from there.
inline constexpr double kWorthSpeakingOf = 0.1;

/// Returns `value` with an interval that holds it: from the 5th to the 95th percentile of `drawn`,
/// wider by the root of the sum of the squares.
Estimate estimateOf(double value, const std::vector<double>& drawn, const Doubt& doubt);

/// What becomes of a measured value.
enum class Change {
  kUnknown,  ///< the run cannot tell it from none
  kLess,
  kMore,
};

/// Returns what `estimate` says against what this run measured: kLess or kMore where all of the
/// interval is so. The interval allows for how far two runs of the same settings differ (Note [The
/// interval of a forecast]), so that what it excludes is beyond that noise.
inline Change changeFrom(double measured, const Estimate& estimate) {
  return estimate.high < measured  ? Change::kLess
         : estimate.low > measured ? Change::kMore
                                   : Change::kUnknown;
}

}  // namespace lockstep::cost

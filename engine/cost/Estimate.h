#pragma once

#include <vector>

namespace lockstep::cost {

/// What another run is expected to measure, in nine cases of ten from `low` to `high`.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// How far a forecast reaches beyond what its draws say (Note [The interval of a forecast]).
struct Doubt {
  double missed = 0;      ///< by a replay of what was measured
  double replayed = 1;    ///< what that replay came to, or what is worth speaking of
  double drift = 0;       ///< between parts of the run
  double runsDiffer = 0;  ///< two runs of the same settings, by experience
};

// By how much, in proportion, two runs of the same settings differ.
inline constexpr double kRunsDifferExposed = 0.1;
inline constexpr double kRunsDifferStep = 0.04;
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

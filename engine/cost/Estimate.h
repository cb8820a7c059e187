#pragma once

namespace lockstep::cost {

/// What another run is expected to measure, in nine cases of ten from `low` to `high`.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

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

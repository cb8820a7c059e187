#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep::simulate {

/// The largest values of a sample, and those larger than any of it: above a threshold u the excess
/// y follows a generalised Pareto distribution,
///
///   P(excess > y) = (1 + shape y / scale)^(-1 / shape);  exp(-y / scale) where shape is 0,
///
/// to which excesses of nearly all distributions tend (Pickands 1975). Scale and shape are fitted
/// by probability weighted moments (Hosking, Wallis 1987), which for few values err less than
/// maximum likelihood: with the excesses y_1 <= ... <= y_n, their mean m, and w = sum of (1 - (j -
/// 0.35) / n) y_j / n,
///
///   shape = 2 - m / (m - 2 w)      scale = 2 m w / (m - 2 w)
///
/// A shape below 0 ends the distribution at u - scale / shape; one of 1/2 or more has no variance,
/// and a fit that says so is held to 1/2, since moments tell nothing beyond.
struct ParetoTail {
  double threshold = 0;
  double part = 0;   ///< of the values are above the threshold
  double scale = 0;  ///< above 0
  double shape = 0;  ///< -1 to 1/2
  std::size_t excesses = 0;

  /// Returns the value that `above` of those above the threshold exceed, 0 < above <= 1.
  [[nodiscard]] double value(double above) const;

  /// Fits the tail of values in any order. None: fewer than kFewestExcesses of them would be in it,
  /// or they are all alike.
  static std::optional<ParetoTail> fit(std::vector<double> values);
};

/// The largest such part of a sample makes its tail.
inline constexpr double kTailPart = 0.15;
inline constexpr std::size_t kFewestExcesses = 10;

}  // namespace lockstep::simulate

#pragma once

#include <optional>
#include <vector>

namespace lockstep::cost {

/// Returns the value below which `part` (0..1) of sorted values lie, interpolated between the
/// nearest two as numpy does by default; 0 of none.
double sortedQuantile(const std::vector<double>& sorted, double part);

/// The same of values in any order.
double quantile(std::vector<double> values, double part);

/// Returns the median; the mean of the middle two of an even number; none of none.
std::optional<double> median(std::vector<double> values);

/// A value and how much it counts.
struct Weighted {
  double value = 0;
  double weight = 1;
};

/// Returns the value at which half of the weight is reached; 0 of none.
double weightedMiddle(std::vector<Weighted> values);

}  // namespace lockstep::cost

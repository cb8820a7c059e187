#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lockstep::cost {

/// Returns the value below which `part` (0..1) of sorted values lie, interpolated between the
/// nearest two as numpy does by default; 0 of none.
double sortedQuantile(const std::vector<double>& sorted, double part);

/// The same of values in any order.
double quantile(std::vector<double> values, double part);

/// Returns quantile(values, 0.5).
double middle(std::vector<double> values);

/// A value and how much it counts.
struct Weighted {
  double value = 0;
  double weight = 1;
};

/// Returns the value at which half of the weight is reached; 0 of none.
double weightedMiddle(std::vector<Weighted> values);

/// Draws `count` numbers below `count` for a bootstrap in blocks: runs of numbers that follow each
/// other, as long as the root of the count, since steps that follow each other are alike.
std::vector<std::size_t> drawBlocks(std::size_t count, std::mt19937_64& random);

}  // namespace lockstep::cost

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep::analysis {

/// The median of values that become more: what it costs to ask hardly grows with them.
class GrowingMedian {
 public:
  void add(std::vector<double> values);

  /// Returns what median() would of all values and `more`.
  [[nodiscard]] std::optional<double> with(std::vector<double> more) const;

 private:
  void insert(double value);
  [[nodiscard]] double at(std::size_t index) const;

  std::vector<std::vector<double>> parts_;  // sorted, and each before the next; none is empty
  std::size_t size_ = 0;
};

}  // namespace lockstep::analysis

#pragma once

#include <cstddef>
#include <optional>

#include "engine/cost/BlockBootstrap.h"
#include "engine/run/Grown.h"

namespace lockstep::analysis {

/// Values of steps, in their order, whose mean is asked for again and again as they become more:
/// what it is drawn from (Note [Block bootstrap]) is added up as they come, so that none is looked
/// at again but where twice as many are taken together. A copy costs little.
class GrowingSample {
 public:
  void add(double value);

  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] double sum() const { return sum_; }
  /// Returns what cost::meanInterval() does.
  [[nodiscard]] std::optional<cost::MeanInterval> interval(double tail,
                                                           cost::MeanIntervals& intervals) const;

 private:
  void gather(double value);

  run::Grown<double> values_;
  double sum_ = 0;
  std::size_t together_ = 1;
  run::Grown<double> means_;  // of so many neighbours; of one, the values are their own
  double next_ = 0;           // the sum of those that are no mean yet
  std::size_t ofNext_ = 0;    // how many these are
};

}  // namespace lockstep::analysis

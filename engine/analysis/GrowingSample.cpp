#include "engine/analysis/GrowingSample.h"

#include <utility>
#include <vector>

namespace lockstep::analysis {

void GrowingSample::add(double value) {
  values_.push_back(value);
  sum_ += value;
  const std::size_t together = cost::takenTogether(values_.size());
  if (together == together_) {
    if (together > 1) {
      gather(value);
    }
    return;
  }
  together_ = together;
  means_ = {};
  next_ = 0;
  ofNext_ = 0;
  for (const double each : values_) {
    gather(each);
  }
}

void GrowingSample::gather(double value) {
  next_ += value;
  ofNext_ += 1;
  if (ofNext_ == together_) {
    means_.push_back(std::exchange(next_, 0) / static_cast<double>(together_));
    ofNext_ = 0;
  }
}

std::optional<cost::MeanInterval> GrowingSample::interval(double tail,
                                                          cost::MeanIntervals& intervals) const {
  return values_.empty() ? std::nullopt
                         : intervals.of({together_ == 1
                                             ? std::vector<double>(values_.begin(), values_.end())
                                             : std::vector<double>(means_.begin(), means_.end()),
                                         values_.size(),
                                         sum_ / static_cast<double>(values_.size())},
                                        tail);
}

}  // namespace lockstep::analysis

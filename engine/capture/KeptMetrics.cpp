#include "engine/capture/KeptMetrics.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/trace/Event.h"

namespace lockstep::capture {

bool isOfStep(const trace::MetricRow& metric) {
  constexpr std::array<std::string_view, 7> kNames{"loss",
                                                   "forward_compute_time",
                                                   "backward_compute_time",
                                                   "backward_comm_time",
                                                   "backward_compute_comm_overlap_time",
                                                   "forward_compute_time_start",
                                                   "unused_parameter_size"};
  return std::find(kNames.begin(), kNames.end(), metric.name) != kNames.end();
}

bool isOfEnd(const trace::MetricRow& metric) {
  return metric.name == "final_loss" || metric.name == "test_loss" ||
         metric.name == "test_accuracy";
}

bool isCounter(const trace::MetricRow& metric) {
  constexpr auto kLast = static_cast<std::uint16_t>(trace::CounterId::kStolenPercent);
  for (std::uint16_t id = 0; id <= kLast; ++id) {
    if (metric.name == trace::name(static_cast<trace::CounterId>(id))) {
      return true;
    }
  }
  return false;
}

}  // namespace lockstep::capture

#include "engine/import/DeviceTime.h"

#include <algorithm>

namespace lockstep::imports {

DeviceTime::DeviceTime(const KinetoTrace& trace, const LaunchTimes& launches) {
  for (const Kernel& kernel : trace.kernels) {
    const Launch* launch = launches.of(kernel.correlation);
    if (launch != nullptr && !kernel.communicates) {
      ends_.emplace_back(launch->beginNs, kernel.endNs);
    }
  }
  std::sort(ends_.begin(), ends_.end());
  std::int64_t last = 0;
  for (auto& [begin, end] : ends_) {
    last = std::max(last, end);
    end = last;
  }
}

std::int64_t DeviceTime::operator()(std::int64_t hostNs) const {
  const auto behind = std::partition_point(ends_.begin(), ends_.end(),
                                           [&](const auto& end) { return end.first < hostNs; });
  return behind == ends_.begin() ? hostNs : std::max(hostNs, (behind - 1)->second);
}

}  // namespace lockstep::imports

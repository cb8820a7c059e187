#include "engine/import/DeviceTime.h"

#include <algorithm>

namespace lockstep::imports {

DeviceTime::DeviceTime(const KinetoTrace& trace, const LaunchTimes& launches) {
  for (const Kernel& kernel : trace.kernels) {
    const Launch* launch = launches.of(kernel.correlation);
    // A collective's kernel waits for other ranks on its own stream: what computes does not wait
    // for it until something says so.
    if (launch != nullptr && !kernel.communicates) {
      ends_.emplace_back(launch->beginNs, kernel.endNs);
    }
  }
  std::sort(ends_.begin(), ends_.end());
  std::int64_t last = 0;
  // From the end of each kernel to the latest end of all that were started by then. A moment of the
  // host is looked up by the starts:
  //
  //       host     start A   start B          moment
  //       device             [   A   ][   B   ]      the moment stands at the end of B
  //
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

#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/import/KinetoTrace.h"

namespace lockstep::imports {

/// Finds what told the device to start a kernel.
class LaunchTimes {
 public:
  explicit LaunchTimes(const KinetoTrace& trace) {
    for (const Launch& launch : trace.launches) {
      of_.try_emplace(launch.correlation, &launch);
    }
  }
  /// Null: the trace has none.
  [[nodiscard]] const Launch* of(std::int64_t correlation) const {
    const auto found = of_.find(correlation);
    return correlation < 0 || found == of_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::int64_t, const Launch*> of_;
};

// Note [A moment of the host on its device]
// A thread that trains with a GPU runs ahead of it: what it does at a moment, the device does once
// it is through with the kernels that were started before. So a moment of the host is, on the
// device, the end of the last of the kernels that had been started by then, and never earlier than
// itself. With this the phases of a step, its gradients and its buckets stand by the device's
// clock, where its kernels and collectives do. Where a rank has no such kernels, a moment is
// itself.
class DeviceTime {
 public:
  DeviceTime(const KinetoTrace& trace, const LaunchTimes& launches);

  [[nodiscard]] std::int64_t operator()(std::int64_t hostNs) const;
  /// Whether the rank computes on a device whose kernels the trace has.
  [[nodiscard]] bool known() const { return !ends_.empty(); }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ends_;  // start of a launch, last end by then
};

}  // namespace lockstep::imports

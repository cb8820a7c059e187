#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/base/Clock.h"
#include "engine/process_group/nccl/Device.h"

namespace lockstep::process_group::nccl {

/// Tells when, in the host's ticks, a device came past an event.
///
/// A device's clock is read as time between two events, in single precision, so that a short time
/// is told well and a long one badly, and it drifts from the host's. So an event of known host
/// time, the anchor, is made anew now and then: queued on an idle stream and waited for, between
/// two readings of the host's clock, several times, of which the tightest counts.
/// [any-thread]
class DeviceClock {
 public:
  explicit DeviceClock(Device& device);

  /// Makes the anchor if there is none or it is older than a quarter of a second. Blocks for some
  /// tens of microseconds then. Throws DeviceError.
  void refresh();

  /// Needs a timed event that has been passed, and an anchor. Throws DeviceError.
  [[nodiscard]] std::uint64_t ticksOf(const Event& event) const;

  /// Half the bracket of the anchor: what ticksOf() is uncertain by, in nanoseconds of the host.
  [[nodiscard]] double uncertaintyNs() const;

 private:
  struct Anchor {
    std::unique_ptr<Event> event;
    base::ClockReading host;
    double uncertaintyNs = 0;
  };
  [[nodiscard]] std::optional<Anchor> tryAnchor() const;

  Device& device_;
  const c10::Stream stream_;
  const base::ClockReading first_;
  mutable std::mutex mutex_;
  std::optional<Anchor> anchor_;
  double nsPerTick_ = 1;
};

}  // namespace lockstep::process_group::nccl

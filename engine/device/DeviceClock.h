#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/base/Clock.h"
#include "engine/device/Device.h"

namespace lockstep::device {

/// Finds when, in the host's ticks, a device passed an event.
///
/// A device's clock can be read only as the time between two events, in single precision: exact
/// over short times, coarse over long ones. It also drifts from the host's. So an event of known
/// host time, the anchor, is made anew now and then (Note [The anchor] in the .cpp). Of several
/// tries the one with the tightest bracket counts, and it is taken unless the old anchor, with its
/// drift, is still the more certain one. [any-thread]
class DeviceClock {
 public:
  explicit DeviceClock(Device& device);
  ~DeviceClock() { device_.releaseStream(stream_); }
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// A time of the device in the host's ticks.
  struct Span {
    std::uint64_t beginTicks = 0;
    std::uint64_t endTicks = 0;
  };

  /// Takes two timed events that have been passed. First makes the anchor anew, if the last try to
  /// do so is more than a quarter of a second ago, which blocks for some tens of microseconds.
  /// Returns nothing as long as there is no anchor, since the device was too busy. Throws
  /// DeviceError.
  [[nodiscard]] std::optional<Span> spanOf(const Event& begin, const Event& end);

  /// Tries to make the first anchor, which a busy device may refuse, again and again for so long.
  /// Throws DeviceError.
  void relate(std::chrono::milliseconds patience);

  /// Half the bracket of the anchor: what ticksOf() is uncertain by, in nanoseconds of the host.
  [[nodiscard]] double uncertaintyNs() const;

 private:
  struct Anchor {
    std::unique_ptr<Event> event;
    base::ClockReading host;
    double uncertaintyNs = 0;
  };
  [[nodiscard]] std::optional<Anchor> tryAnchor() const;
  void refresh();
  [[nodiscard]] bool betterThanLast(const Anchor& anchor) const;
  [[nodiscard]] double hostNsPerTick() const;
  [[nodiscard]] std::uint64_t ticksOf(const Event& event, double nsPerTick) const;

  Device& device_;
  const c10::Stream stream_;
  const base::ClockReading first_;
  mutable std::mutex mutex_;
  std::optional<Anchor> anchor_;
  std::int64_t triedNs_ = 0;
};

}  // namespace lockstep::device

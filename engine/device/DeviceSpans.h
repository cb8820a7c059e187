#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "engine/device/DeviceClock.h"
#include "engine/trace/Tracer.h"

namespace lockstep::device {

/// Spans of work that the host only queues on a device's stream, with the device's times on the
/// host's axis. Each is written later than it was: once the device has passed its end. now() is for
/// any thread, the rest for one at a time, as the lanes are.
class DeviceSpans {
 public:
  /// The device outlives this, and so do the lanes.
  explicit DeviceSpans(Device& device) : device_(device), clock_(device) {}
  /// Finishes.
  ~DeviceSpans() { finish(); }
  DeviceSpans(const DeviceSpans&) = delete;
  DeviceSpans& operator=(const DeviceSpans&) = delete;

  /// The point after what the calling thread's current stream was given up to now. Empty after the
  /// device has failed: spans end then, and whoever uses the device reports the failure.
  using Point = std::shared_ptr<const Event>;
  [[nodiscard]] Point now();

  /// Keeps a span until its device has passed `end`. Its detail gets trace::kByDevice. Does nothing
  /// where a point is empty.
  void add(trace::Lane& lane, trace::EventKind kind, Point begin, Point end, std::uint32_t step,
           std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
           std::uint16_t detail = 0);
  /// The same for a span whose end the host knows, as ticks.
  void add(trace::Lane& lane, trace::EventKind kind, Point begin, std::uint64_t endTicks,
           std::uint32_t step, std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
           std::uint16_t detail = 0);

  /// Writes the spans that the device has passed, in the order in which they were added. Waits for
  /// nothing but a new anchor of the clock (DeviceClock::spanOf).
  void write();
  /// The same, but waits for the clocks, for up to a second.
  void finish();

 private:
  struct Span {
    trace::Lane* lane;
    trace::EventKind kind;
    Point begin;
    Point end;  // null: endTicks
    std::uint64_t endTicks;
    std::uint32_t step;
    std::uint16_t bucket;
    std::uint64_t value;
    std::uint16_t detail;
  };

  Device& device_;
  DeviceClock clock_;
  std::deque<Span> kept_;
  std::atomic<bool> failed_ = false;
};

/// Null for a device whose work is done when its operators return, and where this build cannot tell
/// a device's time.
[[nodiscard]] std::unique_ptr<DeviceSpans> makeDeviceSpans(const c10::Device& device);

}  // namespace lockstep::device

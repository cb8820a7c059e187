#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "engine/device/DeviceClock.h"
#include "engine/trace/Tracer.h"

namespace lockstep::device {

/// Spans of what the host only queues on a device's stream, by the device's clock and on the host's
/// axis. They are written later than they were: once the device has come past their ends.
/// now() is for any thread, the rest for one at a time, as the lanes are.
class DeviceSpans {
 public:
  /// The device outlives this, and so do the lanes.
  explicit DeviceSpans(Device& device) : device_(device), clock_(device) {}
  /// Finishes.
  ~DeviceSpans() { finish(); }
  DeviceSpans(const DeviceSpans&) = delete;
  DeviceSpans& operator=(const DeviceSpans&) = delete;

  /// The point to which the calling thread's current stream will have come. Empty after the device
  /// has failed: what it does then is not told of, since others tell of the failure.
  using Point = std::shared_ptr<const Event>;
  [[nodiscard]] Point now();

  /// Keeps a span until its device has come past `end`. Its detail gets trace::kByDevice. Nothing
  /// where a point is empty.
  void add(trace::Lane& lane, trace::EventKind kind, Point begin, Point end, std::uint32_t step,
           std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
           std::uint16_t detail = 0);
  /// The same of what the host knows to have ended, and when.
  void add(trace::Lane& lane, trace::EventKind kind, Point begin, std::uint64_t endTicks,
           std::uint32_t step, std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
           std::uint16_t detail = 0);

  /// Writes what the device has come past, in the order in which it was added. Does not wait, but
  /// for the clocks to be related (DeviceClock::spanOf).
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

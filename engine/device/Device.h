#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <stdexcept>

namespace lockstep::device {

// CUDA is reached through Device and Event alone, so that what is asked of a device is the same
// code over CUDA (CudaDevices.h) and over the test double, which is built everywhere.

/// What a device said when it could not do its work. After most of these the process can use the
/// device no more.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A point of a stream, as a cudaEvent_t. Its members may be called on any thread, but record()
/// by one at a time, and the others after it. All throw DeviceError.
class Event {
 public:
  virtual ~Event() = default;
  /// Marks the point after what is queued on `stream` now.
  virtual void record(const c10::Stream& stream) = 0;
  /// What is queued on `stream` from now on starts after the point. Does not block the caller.
  virtual void block(const c10::Stream& stream) const = 0;
  /// Whether the device has passed the point.
  [[nodiscard]] virtual bool passed() const = 0;
  /// The device's time from `earlier` to this. Both have been passed, and were made with times.
  /// Negative when `earlier` is the later one after all.
  [[nodiscard]] virtual double nanosecondsSince(const Event& earlier) const = 0;
};

/// One device of this process. [any-thread]; all members throw DeviceError.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual c10::Device device() const = 0;
  /// The stream that operators of the calling thread are queued on.
  [[nodiscard]] virtual c10::Stream currentStream() const = 0;
  /// A stream beside it, of high priority, until it is released.
  [[nodiscard]] virtual c10::Stream makeStream() = 0;
  /// Work that is queued on it is still done. Does not throw.
  virtual void releaseStream(const c10::Stream& stream) = 0;
  /// `timed`: for nanosecondsSince(), which costs a little more.
  [[nodiscard]] virtual std::unique_ptr<Event> makeEvent(bool timed) = 0;
  /// Runs `queue` with `stream` as the calling thread's current one.
  virtual void onStream(const c10::Stream& stream, const std::function<void()>& queue) = 0;
};

/// The devices of one kind.
class Devices {
 public:
  virtual ~Devices() = default;
  [[nodiscard]] virtual c10::DeviceType type() const = 0;
  /// The device that the calling thread works on. Throws DeviceError.
  [[nodiscard]] virtual c10::DeviceIndex current() const = 0;
  /// Lives as long as this. Throws DeviceError. [any-thread]
  [[nodiscard]] virtual Device& at(c10::DeviceIndex index) = 0;
};

}  // namespace lockstep::device

#pragma once

#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/Clock.h"
#include "engine/device/DeviceSpans.h"
#include "engine/trace/Tracer.h"

namespace lockstep::hooks {

/// Returns the bucket's number as events carry it, in 16 bits; those beyond share the last.
inline std::uint16_t eventBucket(std::size_t index) {
  return static_cast<std::uint16_t>(std::min<std::size_t>(index, trace::kNoBucket - 1));
}

/// Records the phases of a communication hook. A phase may end on the backward's thread or on a
/// backend's, which take turns here. A phase of work that is queued on a device has that device's
/// times, and is written once the device has reached its end. [any-thread]
class HookTrace {
 public:
  using DeviceSpans = device::DeviceSpans;

  /// When a phase began or ended: for the host and, of what is queued on a device, for that.
  struct Moment {
    std::uint64_t ticks = 0;
    DeviceSpans::Point point;
  };

  /// `tracer` may be null: then nothing is recorded. Otherwise it outlives the hook, which calls
  /// close(). `spans`: a source of device times in place of the one made for the device that now()
  /// is given; nobody else may use it.
  static std::shared_ptr<HookTrace> create(trace::Tracer* tracer, const std::string& lane = "hook",
                                           std::shared_ptr<DeviceSpans> spans = nullptr) {
    return std::shared_ptr<HookTrace>(new HookTrace(tracer, lane, std::move(spans)));
  }

  /// The present moment: of the host, and on a device the end of what its current stream was given.
  [[nodiscard]] Moment now(const c10::Device& device);
  /// The present moment of the host alone, for the end of something that the host was notified of.
  [[nodiscard]] static Moment learnt() { return {base::ticks(), nullptr}; }

  /// Records a phase (kHookEncode, kHookCommunicate, kHookDecode, kBucketOptimizer), of
  /// eventBucket(), or of kNoBucket for what a hook does around a step; `bytes` before an encode,
  /// on the wire, or after a decode.
  void phase(trace::EventKind kind, const Moment& begin, const Moment& end, std::uint32_t step,
             std::uint16_t bucket, std::uint64_t bytes);

  /// Records what devices have done up to now. Nothing is recorded from then on: what a hook left
  /// in flight may end when the tracer is gone.
  void close();

 private:
  HookTrace(trace::Tracer* tracer, const std::string& lane, std::shared_ptr<DeviceSpans> spans);

  const bool onDevice_;  // whatever the device is said to be
  // Held while spans are written, which now() does not wait for: a backward calls it.
  std::mutex writing_;
  std::mutex mutex_;  // guards what follows; taken within writing_
  trace::Lane* lane_;
  std::shared_ptr<DeviceSpans> spans_;
  bool asked_;  // for the spans of the device
};

}  // namespace lockstep::hooks

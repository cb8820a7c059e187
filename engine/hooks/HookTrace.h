#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/base/Clock.h"
#include "engine/trace/Tracer.h"

namespace lockstep::hooks {

/// Returns the bucket's number as events carry it, in 16 bits; those beyond share the last.
inline std::uint16_t eventBucket(std::size_t index) {
  return static_cast<std::uint16_t>(std::min<std::size_t>(index, trace::kNoBucket - 1));
}

/// Records the phases of a communication hook on the lane "hook". A phase may end on the
/// backward's thread or on a backend's, which take turns here. [any-thread]
class HookTrace {
 public:
  /// `tracer` may be null: then nothing is recorded.
  static std::shared_ptr<HookTrace> create(trace::Tracer* tracer) {
    return std::shared_ptr<HookTrace>(new HookTrace(tracer));
  }

  /// Records a phase (kHookEncode, kHookCommunicate, kHookDecode) that began at `startTicks`
  /// and ends now, of eventBucket(), or of kNoBucket for what a hook does around a step; `bytes`
  /// before an encode, on the wire, or after a decode.
  void phase(trace::EventKind kind, std::uint64_t startTicks, std::uint32_t step,
             std::uint16_t bucket, std::uint64_t bytes) {
    if (lane_ != nullptr && lane_->enabled()) {
      const std::uint64_t endTicks = base::ticks();
      std::lock_guard lock(mutex_);
      lane_->spanUntil(kind, startTicks, endTicks, step, bucket, bytes);
    }
  }

 private:
  explicit HookTrace(trace::Tracer* tracer)
      : lane_(tracer == nullptr ? nullptr : &tracer->lane("hook")) {}

  std::mutex mutex_;
  trace::Lane* lane_;
};

}  // namespace lockstep::hooks

#include "engine/hooks/HookTrace.h"

namespace lockstep::hooks {

HookTrace::HookTrace(trace::Tracer* tracer, const std::string& lane,
                     std::shared_ptr<DeviceSpans> spans)
    : onDevice_(spans != nullptr),
      lane_(tracer == nullptr ? nullptr : &tracer->lane(lane)),
      spans_(std::move(spans)),
      asked_(onDevice_) {}

HookTrace::Moment HookTrace::now(const c10::Device& device) {
  Moment moment = learnt();
  if (onDevice_ || !device.is_cpu()) {
    std::unique_lock lock(mutex_);
    if (lane_ != nullptr && lane_->enabled()) {
      if (!std::exchange(asked_, true)) {
        spans_ = device::makeDeviceSpans(device);
      }
      const auto spans = spans_;
      // A device may take its time to make an event; others may ask for moments meanwhile.
      lock.unlock();
      moment.point = spans != nullptr ? spans->now() : nullptr;
    }
  }
  return moment;
}

void HookTrace::phase(trace::EventKind kind, const Moment& begin, const Moment& end,
                      std::uint32_t step, std::uint16_t bucket, std::uint64_t bytes) {
  const std::lock_guard writing(writing_);
  std::unique_lock lock(mutex_);
  trace::Lane* const lane = lane_;
  // Copied, and mutex_ given back: writing takes longer than a backward that asks now() should have
  // to wait. close() cannot come between all the same, since it needs writing_.
  const auto spans = spans_;
  lock.unlock();
  if (lane == nullptr) {
    return;
  }
  if (spans == nullptr) {
    lane->spanUntil(kind, begin.ticks, end.ticks, step, bucket, bytes);
    return;
  }
  if (end.point != nullptr) {
    spans->add(*lane, kind, begin.point, end.point, step, bucket, bytes);
  } else {
    spans->add(*lane, kind, begin.point, end.ticks, step, bucket, bytes);
  }
  spans->write();
}

void HookTrace::close() {
  const std::lock_guard writing(writing_);
  const std::lock_guard lock(mutex_);
  if (lane_ != nullptr && spans_ != nullptr) {
    spans_->finish();
  }
  spans_.reset();
  lane_ = nullptr;
}

}  // namespace lockstep::hooks

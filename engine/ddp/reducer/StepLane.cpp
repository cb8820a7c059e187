#include "engine/ddp/reducer/StepLane.h"

#include <utility>

#include "engine/base/Clock.h"
#include "engine/base/Log.h"
#include "engine/trace/CoreWait.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

StepLane::StepLane(trace::Tracer* tracer, std::shared_ptr<device::DeviceSpans> device)
    : ownTracer_(tracer == nullptr ? std::make_unique<trace::Tracer>() : nullptr),
      tracer_(tracer == nullptr ? *ownTracer_ : *tracer),
      lane_(tracer_.lane("ddp")),
      device_(std::move(device)) {}

StepLane::Moment StepLane::now() const {
  return {base::ticks(), device_ != nullptr ? device_->now() : nullptr};
}

void StepLane::between(trace::EventKind kind, const Moment& begin, const Moment& end,
                       std::uint16_t bucket, std::uint64_t value, std::uint16_t detail) {
  if (device_ != nullptr) {
    device_->add(lane_, kind, begin.point, end.point, step_, bucket, value, detail);
  } else {
    lane_.spanUntil(kind, begin.ticks, end.ticks, step_, bucket, value, detail);
  }
}

void StepLane::instant(trace::EventKind kind, std::uint16_t bucket, std::uint64_t value) {
  if (device_ != nullptr) {
    const auto point = device_->now();
    device_->add(lane_, kind, point, point, step_, bucket, value);
  } else {
    lane_.instant(kind, step_, bucket, value);
  }
}

void StepLane::writeDevice() {
  if (device_ != nullptr) {
    device_->write();
  }
}

void StepLane::hostSpan(trace::EventKind kind, std::uint64_t startTicks, std::uint16_t bucket,
                        std::uint64_t value, std::uint16_t detail) {
  lane_.span(kind, startTicks, step_, bucket, value, detail);
}

void StepLane::hostInstant(trace::EventKind kind, std::uint64_t value) {
  lane_.instant(kind, step_, trace::kNoBucket, value);
}

void StepLane::coreWait() {
  trace::CoreWait::ofThisThread().tell(lane_, step_);
}

void StepLane::warn(const std::string& text) {
  base::logWarning("{}", text);
  tracer_.send(trace::toJson(trace::ProblemMessage{"warning", step_, text}));
}

}  // namespace lockstep::ddp

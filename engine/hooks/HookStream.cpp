#include "engine/hooks/HookStream.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace lockstep::hooks {

using c10::impl::VirtualGuardImpl;

StreamPoint::StreamPoint(const c10::Device& device) {
  if (!device.is_cpu()) {
    event_ = std::make_shared<c10::Event>(device.type());
    event_->record(VirtualGuardImpl(device.type()).getStream(device));
  }
}

void StreamPoint::orderCurrent() const {
  if (event_ != nullptr) {
    event_->block(VirtualGuardImpl(event_->device_type()).getStream(event_->device()));
  }
}

HookStream::Guard HookStream::enter(const c10::Device& device) {
  if (!device.is_cpu() && !stream_) {
    stream_ =
        VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, /*isHighPriority=*/true);
  }
  return Guard(device.is_cpu() ? std::nullopt : stream_);
}

}  // namespace lockstep::hooks

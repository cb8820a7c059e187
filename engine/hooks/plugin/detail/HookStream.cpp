#include "engine/hooks/plugin/detail/HookStream.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace lockstep::hooks::detail {

using c10::impl::VirtualGuardImpl;

StreamPoint::StreamPoint(const c10::Device& device) {
  if (!device.is_cpu()) {
    event_ = std::make_shared<c10::Event>(device.type());
    event_->record(VirtualGuardImpl(device.type()).getStream(device));
  }
}

void StreamPoint::orderCurrent() const {
  if (event_ != nullptr) {
    const VirtualGuardImpl implementation(event_->device_type());
    event_->block(implementation.getStream(implementation.getDevice()));
  }
}

HookStream::Guard HookStream::enter(const c10::Device& device) {
  if (!device.is_cpu() && !stream_) {
    stream_ = VirtualGuardImpl(device.type())
                  .getStreamFromGlobalPool(device, /*isHighPriority=*/true);
  }
  return Guard(device.is_cpu() ? std::nullopt : stream_);
}

}  // namespace lockstep::hooks::detail

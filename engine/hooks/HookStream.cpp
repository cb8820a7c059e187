#include "engine/hooks/HookStream.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#ifdef LOCKSTEP_WITH_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

namespace lockstep::hooks {

using c10::impl::VirtualGuardImpl;

StreamPoint::StreamPoint(const c10::Device& device) {
  if (!device.is_cpu()) {
    event_ = std::make_shared<c10::Event>(device.type());
    event_->record(VirtualGuardImpl(device.type()).getStream(device));
  }
}

void StreamPoint::orderCurrent() const {
  // The device waits, not the host.
  if (event_ != nullptr) {
    event_->block(VirtualGuardImpl(event_->device_type()).getStream(event_->device()));
  }
}

std::optional<c10::Stream> HookStream::of(const c10::Device& device) {
  if (device.is_cpu()) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  if (!stream_) {
    // High priority: the backward has work queued far ahead, and the hook's must not wait for it.
    stream_ =
        VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device, /*isHighPriority=*/true);
  }
  return stream_;
}

HookStream::Guard HookStream::enter(const c10::Device& device) {
  return Guard(of(device));
}

void* HookStream::handle([[maybe_unused]] const c10::Device& device) {
#ifdef LOCKSTEP_WITH_CUDA
  if (const auto stream = of(device)) {
    return c10::cuda::CUDAStream(*stream).stream();
  }
#endif
  return nullptr;
}

}  // namespace lockstep::hooks

#include "engine/process_group/nccl/DeviceSpans.h"

#include <utility>

#include "engine/trace/DeviceTimed.h"

#ifdef LOCKSTEP_WITH_NCCL
#include "engine/process_group/nccl/CudaDevices.h"
#endif

namespace lockstep::process_group::nccl {

DeviceSpans::Point DeviceSpans::now() {
  if (failed_) {
    return nullptr;
  }
  try {
    auto event = device_.makeEvent(true);
    event->record(device_.currentStream());
    return event;
  } catch (const DeviceError&) {
    failed_ = true;
    return nullptr;
  }
}

void DeviceSpans::add(trace::Lane& lane, trace::EventKind kind, Point begin, Point end,
                      std::uint32_t step, std::uint16_t bucket, std::uint64_t value,
                      std::uint16_t detail) {
  if (begin != nullptr && end != nullptr && lane.enabled()) {
    kept_.push_back({&lane, kind, std::move(begin), std::move(end), step, bucket, value,
                     static_cast<std::uint16_t>(detail | trace::kByDevice)});
  }
}

void DeviceSpans::write() {
  try {
    while (!failed_ && !kept_.empty() && kept_.front().end->passed()) {
      const Span& span = kept_.front();
      const auto times = clock_.spanOf(*span.begin, *span.end);
      if (!times) {
        return;  // the clocks are not related yet
      }
      span.lane->spanUntil(span.kind, times->beginTicks, times->endTicks, span.step, span.bucket,
                           span.value, span.detail);
      kept_.pop_front();
    }
  } catch (const DeviceError&) {
    failed_ = true;
  }
}

std::unique_ptr<DeviceSpans> makeDeviceSpans([[maybe_unused]] const c10::Device& device) {
#ifdef LOCKSTEP_WITH_NCCL
  if (device.is_cuda()) {
    static const std::shared_ptr<Devices> devices = cudaDevices();
    return std::make_unique<DeviceSpans>(devices->at(device.index()));
  }
#endif
  return nullptr;
}

}  // namespace lockstep::process_group::nccl

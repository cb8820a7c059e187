#include "engine/device/DeviceSpans.h"

#include <chrono>
#include <utility>

#include "engine/trace/DeviceTimed.h"

#ifdef LOCKSTEP_WITH_CUDA
#include "engine/device/CudaDevices.h"
#endif

namespace lockstep::device {

DeviceSpans::Point DeviceSpans::now() {
  if (failed_) {
    return nullptr;
  }
  try {
    auto event = device_.makeEvent(true);
    event->record(device_.currentStream());
    return event;
  } catch (const DeviceError&) {
    // From now on nothing is asked of the device: after most errors each call would throw again.
    failed_ = true;
    return nullptr;
  }
}

void DeviceSpans::add(trace::Lane& lane, trace::EventKind kind, Point begin, Point end,
                      std::uint32_t step, std::uint16_t bucket, std::uint64_t value,
                      std::uint16_t detail) {
  if (begin != nullptr && end != nullptr && lane.enabled()) {
    kept_.push_back({&lane, kind, std::move(begin), std::move(end), 0, step, bucket, value,
                     static_cast<std::uint16_t>(detail | trace::kByDevice)});
  }
}

void DeviceSpans::add(trace::Lane& lane, trace::EventKind kind, Point begin, std::uint64_t endTicks,
                      std::uint32_t step, std::uint16_t bucket, std::uint64_t value,
                      std::uint16_t detail) {
  if (begin != nullptr && lane.enabled()) {
    kept_.push_back({&lane, kind, std::move(begin), nullptr, endTicks, step, bucket, value,
                     static_cast<std::uint16_t>(detail | trace::kByDevice)});
  }
}

void DeviceSpans::write() {
  try {
    while (!failed_ && !kept_.empty()) {
      const Span& span = kept_.front();
      const Event& last = span.end != nullptr ? *span.end : *span.begin;
      // As they were added: one that the device has not passed holds back those after it.
      if (!last.passed()) {
        return;
      }
      const auto times = clock_.spanOf(*span.begin, last);
      if (!times) {
        return;  // the clocks are not related yet
      }
      span.lane->spanUntil(span.kind, times->beginTicks,
                           span.end != nullptr ? times->endTicks : span.endTicks, span.step,
                           span.bucket, span.value, span.detail);
      kept_.pop_front();
    }
  } catch (const DeviceError&) {
    failed_ = true;
  }
}

void DeviceSpans::finish() {
  try {
    if (!failed_ && !kept_.empty()) {
      clock_.relate(std::chrono::seconds(1));
    }
  } catch (const DeviceError&) {
    failed_ = true;
  }
  write();
}

std::unique_ptr<DeviceSpans> makeDeviceSpans([[maybe_unused]] const c10::Device& device) {
#ifdef LOCKSTEP_WITH_CUDA
  if (device.is_cuda()) {
    static const std::shared_ptr<Devices> devices = cudaDevices();
    return std::make_unique<DeviceSpans>(devices->at(device.index()));
  }
#endif
  return nullptr;
}

}  // namespace lockstep::device

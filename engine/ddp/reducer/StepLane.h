#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/device/DeviceSpans.h"
#include "engine/trace/Tracer.h"

namespace lockstep::ddp {

/// What a Reducer records of the step that is on: on a lane of its own, by the host's clock or,
/// where the gradients lie on a device whose time is known, by that device's.
/// Guarded by the Reducer's mutex; the moment alone may be asked for without it.
class StepLane {
 public:
  /// A moment: of the calling thread, and of the device on which it queues work.
  struct Moment {
    std::uint64_t ticks = 0;
    device::DeviceSpans::Point point;
  };

  /// `tracer`: null for one that records nothing, else it outlives this. `device`: may be null.
  StepLane(trace::Tracer* tracer, std::shared_ptr<device::DeviceSpans> device);

  [[nodiscard]] trace::Tracer& tracer() { return tracer_; }
  [[nodiscard]] bool enabled() const { return lane_.enabled(); }
  [[nodiscard]] bool byDevice() const { return device_ != nullptr; }
  [[nodiscard]] std::uint32_t step() const { return step_; }
  void setStep(std::uint32_t step) { step_ = step; }

  /// [any-thread]
  [[nodiscard]] Moment now() const;

  // By the device's clock where there is one.
  void between(trace::EventKind kind, const Moment& begin, const Moment& end,
               std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
               std::uint16_t detail = 0);
  void instant(trace::EventKind kind, std::uint16_t bucket, std::uint64_t value);
  /// Writes the spans whose end the device has reached.
  void writeDevice();

  // By the host's clock.
  void hostSpan(trace::EventKind kind, std::uint64_t startTicks,
                std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
                std::uint16_t detail = 0);
  void hostInstant(trace::EventKind kind, std::uint64_t value);
  /// Records how long the calling thread has waited for a core since it last recorded that.
  void coreWait();

  /// In the log, and among the run's problems.
  void warn(const std::string& text);

 private:
  std::unique_ptr<trace::Tracer> ownTracer_;
  trace::Tracer& tracer_;
  trace::Lane& lane_;
  const std::shared_ptr<device::DeviceSpans> device_;
  std::uint32_t step_ = 0;
};

}  // namespace lockstep::ddp

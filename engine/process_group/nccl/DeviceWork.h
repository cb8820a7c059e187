#pragma once

#include <memory>

#include "engine/process_group/nccl/Flight.h"
#include "engine/process_group/operation/WorkOver.h"

namespace lockstep::process_group::nccl {

/// The Work of an operation on a device, as c10d's WorkNCCL: wait() without a time limit orders
/// the caller's current stream behind the operation and returns as soon as the device has it, so
/// that the host goes on queueing; with one, and for a barrier, it blocks until the device is
/// done. isCompleted() and the future speak of the device, some microseconds late; the future
/// completes on the group's thread, when the results may be read on any stream. An error that
/// comes after wait() has returned is thrown by whatever the group is asked next. [any-thread]
class DeviceWork final : public WorkOver {
 public:
  DeviceWork(std::shared_ptr<Flight> flight, Device& device)
      : WorkOver(flight->work), flight_(std::move(flight)), device_(device) {}

  void wait(std::chrono::milliseconds timeout = kNoTimeout) override;

 private:
  const std::shared_ptr<Flight> flight_;
  Device& device_;
};

}  // namespace lockstep::process_group::nccl

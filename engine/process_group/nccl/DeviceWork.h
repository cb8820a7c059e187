#pragma once

#include <memory>

#include "engine/process_group/WorkState.h"
#include "engine/process_group/nccl/Flight.h"

namespace lockstep::process_group::nccl {

/// The Work of an operation on a device, as c10d's WorkNCCL: wait() without a time limit orders
/// the caller's current stream behind the operation and returns as soon as the device has it, so
/// that the host goes on queueing; with one, and for a barrier, it blocks until the device is
/// done. isCompleted() and the future speak of the device, some microseconds late; the future
/// completes on the group's thread, when the results may be read on any stream. An error that
/// comes after wait() has returned is thrown by whatever the group is asked next. [any-thread]
class DeviceWork final : public Work {
 public:
  DeviceWork(std::shared_ptr<Flight> flight, Device& device)
      : flight_(std::move(flight)), state_(flight_->work), device_(device) {}

  [[nodiscard]] bool isCompleted() const override { return state_->isCompleted(); }
  [[nodiscard]] bool isSuccess() const override { return state_->isSuccess(); }
  [[nodiscard]] std::exception_ptr exception() const override { return state_->exception(); }
  void wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override { state_->abort(); }
  [[nodiscard]] int sourceRank() const override { return state_->sourceRank(); }
  [[nodiscard]] std::vector<at::Tensor> result() const override { return state_->result(); }
  [[nodiscard]] base::Future<std::vector<at::Tensor>> future() const override {
    return state_->future();
  }
  [[nodiscard]] trace::Operation operation() const override { return state_->operation(); }
  [[nodiscard]] std::uint64_t sequence() const override { return state_->sequence(); }

 private:
  const std::shared_ptr<Flight> flight_;
  const std::shared_ptr<WorkState> state_;
  Device& device_;
};

}  // namespace lockstep::process_group::nccl

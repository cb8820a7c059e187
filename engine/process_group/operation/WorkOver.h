#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/process_group/WorkState.h"

namespace lockstep::process_group {

/// A Work over the state of an operation, of which who asks does something for the backend first:
/// that is for who derives from this.
class WorkOver : public Work {
 public:
  explicit WorkOver(std::shared_ptr<WorkState> state) : state_(std::move(state)) {}

  [[nodiscard]] bool isCompleted() const override { return state_->isCompleted(); }
  [[nodiscard]] bool isSuccess() const override { return isCompleted() && state_->isSuccess(); }
  [[nodiscard]] std::exception_ptr exception() const override { return state_->exception(); }
  void abort() override { state_->abort(); }
  [[nodiscard]] int sourceRank() const override { return state_->sourceRank(); }
  [[nodiscard]] std::vector<at::Tensor> result() const override { return state_->result(); }
  [[nodiscard]] base::Future<std::vector<at::Tensor>> future() const override {
    return state_->future();
  }
  [[nodiscard]] trace::Operation operation() const override { return state_->operation(); }
  [[nodiscard]] std::uint64_t sequence() const override { return state_->sequence(); }
  [[nodiscard]] std::uint8_t groupNumber() const override { return state_->groupNumber(); }

 protected:
  const std::shared_ptr<WorkState> state_;
};

}  // namespace lockstep::process_group

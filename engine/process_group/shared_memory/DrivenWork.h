#pragma once

#include <memory>

#include "engine/process_group/shared_memory/Dispatcher.h"

namespace lockstep::process_group::shared_memory {

/// The Work of this backend: who waits for it drives it. [any-thread]
class DrivenWork final : public Work {
 public:
  DrivenWork(OperationPtr operation, std::weak_ptr<Dispatcher> dispatcher)
      : state_(operation->work),
        operation_(std::move(operation)),
        dispatcher_(std::move(dispatcher)) {}

  [[nodiscard]] bool isCompleted() const override;
  [[nodiscard]] bool isSuccess() const override { return isCompleted() && state_->isSuccess(); }
  [[nodiscard]] std::exception_ptr exception() const override { return state_->exception(); }
  void wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void abort() override { state_->abort(); }
  [[nodiscard]] int sourceRank() const override { return state_->sourceRank(); }
  [[nodiscard]] std::vector<at::Tensor> result() const override { return state_->result(); }
  [[nodiscard]] base::Future<std::vector<at::Tensor>> future() const override;
  [[nodiscard]] trace::Operation operation() const override { return state_->operation(); }
  [[nodiscard]] std::uint64_t sequence() const override { return state_->sequence(); }

 private:
  const std::shared_ptr<WorkState> state_;
  const OperationPtr operation_;
  const std::weak_ptr<Dispatcher> dispatcher_;  // may be gone when the operation has ended
};

}  // namespace lockstep::process_group::shared_memory

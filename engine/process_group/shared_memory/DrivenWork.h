#pragma once

#include <memory>

#include "engine/process_group/operation/WorkOver.h"
#include "engine/process_group/shared_memory/Dispatcher.h"

namespace lockstep::process_group::shared_memory {

/// The Work of this backend: who waits for it drives it. [any-thread]
class DrivenWork final : public WorkOver {
 public:
  DrivenWork(OperationPtr operation, std::weak_ptr<Dispatcher> dispatcher)
      : WorkOver(operation->work),
        operation_(std::move(operation)),
        dispatcher_(std::move(dispatcher)) {}

  [[nodiscard]] bool isCompleted() const override;
  void wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  [[nodiscard]] base::Future<std::vector<at::Tensor>> future() const override;

 private:
  const OperationPtr operation_;
  const std::weak_ptr<Dispatcher> dispatcher_;  // may be gone when the operation has ended
};

}  // namespace lockstep::process_group::shared_memory

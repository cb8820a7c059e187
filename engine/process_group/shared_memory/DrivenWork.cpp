#include "engine/process_group/shared_memory/DrivenWork.h"

namespace lockstep::process_group::shared_memory {

bool DrivenWork::isCompleted() const {
  if (!state_->isCompleted() && !isDirect(state_->operation())) {
    if (const auto dispatcher = dispatcher_.lock()) {
      dispatcher->advance();
    }
  }
  return state_->isCompleted();
}

void DrivenWork::wait(std::chrono::milliseconds timeout) {
  if (!state_->isCompleted()) {
    if (const auto dispatcher = dispatcher_.lock()) {
      // A driver cannot leave in the middle of an operation; but what a callback waits for, nobody
      // else may drive.
      if (timeout == kNoTimeout || dispatcher->onThread()) {
        dispatcher->drive(operation_);
      } else {
        dispatcher->handOver(*operation_);
      }
    }
  }
  state_->wait(timeout);
}

base::Future<std::vector<at::Tensor>> DrivenWork::future() const {
  if (!state_->isCompleted()) {
    if (const auto dispatcher = dispatcher_.lock()) {
      dispatcher->handOver(*operation_);
    }
  }
  return state_->future();
}

}  // namespace lockstep::process_group::shared_memory

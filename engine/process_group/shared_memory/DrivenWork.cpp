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
      if (timeout == kNoTimeout) {
        dispatcher->drive(operation_);
      } else {  // a driver could not leave in the middle of an operation
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

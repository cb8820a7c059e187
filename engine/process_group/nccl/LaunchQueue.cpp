#include "engine/process_group/nccl/LaunchQueue.h"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "engine/base/Thread.h"

namespace lockstep::process_group::nccl {

LaunchQueue::LaunchQueue() : thread_([this] { work(); }) {}

LaunchQueue::~LaunchQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LaunchQueue::post(std::function<void()> launch) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(launch));
  }
  wake_.notify_all();
}

void LaunchQueue::work() {
  base::nameThisThread("nccl direct");
  const at::NoGradGuard noGrad;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    auto launch = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    launch();
    launch = nullptr;
    lock.lock();
  }
}

}  // namespace lockstep::process_group::nccl

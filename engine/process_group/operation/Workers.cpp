#include "engine/process_group/operation/Workers.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/Thread.h"

namespace lockstep::process_group {

Workers::Workers(const std::vector<std::string>& names, const Records* records) {
  for (const std::string& name : names) {
    threads_.emplace_back([this, name, lane = records == nullptr ? nullptr : &records->lane(name)] {
      base::nameThisThread(name);
      work(lane);
    });
  }
}

Workers::~Workers() {
  finish();
}

void Workers::put(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Workers::finish() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

bool Workers::onOne() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
}

void Workers::work(trace::Lane* lane) {
  const at::NoGradGuard noGrad;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task(lane);
    task = nullptr;
    lock.lock();
  }
}

std::vector<std::string> numberedNames(const std::string& name, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(fmt::format("{} {}", name, i));
  }
  return names;
}

}  // namespace lockstep::process_group

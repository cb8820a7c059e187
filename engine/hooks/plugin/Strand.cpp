#include "engine/hooks/plugin/Strand.h"

#include <ATen/core/grad_mode.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/Thread.h"

namespace lockstep::hooks {

// The thread is detached and holds its state: a plugin that hangs cannot be interrupted, and a
// thread that must be joined would hang the end of the process with it. So it is left behind, with
// a state that nobody else destroys.
struct Strand::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> functions;
  std::atomic<std::thread::id> thread;
  bool closing = false;
  bool ended = false;

  void work() {
    at::NoGradGuard noGrad;
    std::unique_lock lock(mutex);
    thread = std::this_thread::get_id();
    while (true) {
      changed.wait(lock, [this] { return closing || !functions.empty(); });
      if (closing) {
        break;
      }
      auto function = std::move(functions.front());
      functions.pop_front();
      lock.unlock();
      function();
      function = nullptr;  // what it captured may take the lock
      lock.lock();
    }
    ended = true;
    changed.notify_all();
  }
};

Strand::Strand(const std::string& name) : state_(std::make_shared<State>()) {
  std::thread([state = state_, name] {
    base::nameThisThread(name);
    state->work();
  }).detach();
}

Strand::~Strand() {
  std::deque<std::function<void()>> dropped;
  std::unique_lock lock(state_->mutex);
  state_->closing = true;
  // They are destroyed at the end, without the lock: what they captured may post to this strand.
  dropped.swap(state_->functions);
  state_->changed.notify_all();
  if (state_->thread == std::this_thread::get_id()) {
    return;  // the last owner was a function of the strand's own
  }
  state_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return state_->ended; });
}

bool Strand::isHere() const {
  return state_->thread == std::this_thread::get_id();
}

void Strand::runHereOrPost(std::function<void()> function) const {
  if (isHere()) {
    function();
  } else {
    post(std::move(function));
  }
}

void Strand::post(std::function<void()> function) const {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->closing) {
      return;
    }
    state_->functions.push_back(std::move(function));
  }
  state_->changed.notify_all();
}

}  // namespace lockstep::hooks

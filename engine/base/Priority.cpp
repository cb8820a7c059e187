#include "engine/base/Priority.h"

#include <sys/resource.h>

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/base/Thread.h"

namespace lockstep::base {
namespace {

// Note [Back to the front]
//
// A thread may lower its priority, but not raise it again without a privilege. Programs that watch
// a training lower theirs, and yet have to start the training itself with the priority that the
// user gave. So one thread is made before, keeps the old priority, and starts what is to run in
// front: children inherit the priority of the thread that makes them.

/// A thread that waits for work, one piece at a time.
class Front {
 public:
  Front() : thread_([this] { run(); }) {}

  ~Front() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void execute(const std::function<void()>& work) {
    const std::lock_guard alone(oneAtATime_);
    std::unique_lock lock(mutex_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
  }

 private:
  void run() {
    nameThisThread("front");
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || work_ != nullptr; });
      if (ending_) {
        return;
      }
      // With the lock held: execute() waits for the end anyway, and nobody else has work for it.
      (*work_)();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex oneAtATime_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  bool ending_ = false;
  std::thread thread_;
};

std::unique_ptr<Front>& front() {
  static std::unique_ptr<Front> instance;
  return instance;
}

}  // namespace

void stepBehind() {
  // On Linux each thread has a nice value of its own, and 0 names the calling one.
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, 0);
  // -1 is a priority, too: errno alone tells an error. Never forward: who is further behind stays
  // there.
  if (errno == 0 && now < kBehind) {
    (void)setpriority(PRIO_PROCESS, 0, kBehind);
  }
}

void stepProgramBehind() {
  if (front() == nullptr) {
    front() = std::make_unique<Front>();
  }
  stepBehind();
}

void inFront(const std::function<void()>& work) {
  if (front() == nullptr) {
    work();
  } else {
    front()->execute(work);
  }
}

}  // namespace lockstep::base

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep::process_group::nccl {

/// A thread ("nccl direct") that runs what is posted to it, in that order. [any-thread]
class LaunchQueue {
 public:
  LaunchQueue();
  /// Runs what waits, and then ends.
  ~LaunchQueue();
  LaunchQueue(const LaunchQueue&) = delete;
  LaunchQueue& operator=(const LaunchQueue&) = delete;

  void post(std::function<void()> launch);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lockstep::process_group::nccl

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/operation/Records.h"

namespace lockstep::process_group {

/// Threads that take tasks from one queue, in the order in which they were put there. Gradients are
/// not recorded on them. [any-thread]
class Workers {
 public:
  /// Is given the lane of the thread that runs it, if it has one.
  using Task = std::function<void(trace::Lane* lane)>;

  /// One thread for each name; with `records`, each has a lane of its name there.
  explicit Workers(const std::vector<std::string>& names, const Records* records = nullptr);
  /// As finish().
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void put(Task task);
  /// Runs what waits, and ends the threads. Not on one of them.
  void finish();
  /// Whether the calling thread is one of them.
  [[nodiscard]] bool onOne() const;

 private:
  void work(trace::Lane* lane);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// "gloo 0", "gloo 1".
[[nodiscard]] std::vector<std::string> numberedNames(const std::string& name, int count);

}  // namespace lockstep::process_group

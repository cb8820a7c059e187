#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::hooks {

/// Knows which call each rank is in, and reports, once, a call that does not come back: those that
/// the rank's own thread makes into a plugin have no other limit. [any-thread]
class Watch {
 public:
  /// Called on the watch's thread with the rank and what it is doing.
  using Stuck = std::function<void(int rank, const std::string& what)>;

  /// `limit`: for each thing that a rank does.
  Watch(int ranks, std::chrono::milliseconds limit, Stuck stuck);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// While it lives, the rank does what it says. Does not nest.
  class Doing {
   public:
    Doing(Watch& watch, int rank, std::string what);
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    Watch& watch_;
    const int rank_;
  };

  /// What Doing does, where no scope fits. end() returns what the rank was doing, "" for nothing.
  void begin(int rank, std::string what);
  std::string end(int rank);

 private:
  using Clock = std::chrono::steady_clock;
  struct Task {
    std::string what;
    Clock::time_point deadline = Clock::time_point::max();
  };
  void work();

  const std::chrono::milliseconds limit_;
  const Stuck stuck_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace lockstep::hooks

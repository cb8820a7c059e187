#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "engine/base/posix/ChildProcess.h"
#include "engine/base/posix/EventLoop.h"

namespace lockstep::launch::detail {

/// A child whose output and end are heard of in the event loop. One thread, the loop's.
class WatchedChild {
 public:
  struct Hears {
    std::function<void(bool isError, std::string_view bytes)> wrote;
    /// All that it wrote was handed on before. May destroy the WatchedChild.
    std::function<void(const posix::ProcessEnd& end)> ended;
  };

  /// The loop outlives it. Error: that of ChildProcess::spawn.
  static base::Result<std::unique_ptr<WatchedChild>> start(
      posix::EventLoop& loop, const posix::ChildProcess::Options& options, Hears hears);
  /// Kills a process that is still there.
  ~WatchedChild();
  WatchedChild(const WatchedChild&) = delete;
  WatchedChild& operator=(const WatchedChild&) = delete;

  [[nodiscard]] const posix::ChildProcess& process() const { return process_; }

 private:
  WatchedChild(posix::EventLoop& loop, posix::ChildProcess process, Hears hears);
  void read(bool isError);
  void mayHaveEnded();

  posix::EventLoop& loop_;
  posix::ChildProcess process_;
  Hears hears_;
};

}  // namespace lockstep::launch::detail

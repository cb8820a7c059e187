#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/base/posix/ChildProcess.h"

namespace lockstep::launch::detail {

/// Hears what becomes of the ranks. Rank -1 is the command that starts them elsewhere.
class RankWatcher {
 public:
  virtual ~RankWatcher() = default;

  /// `host`: its number in the run file (trace::Recorder::addHost).
  virtual void rankStarted(int rank, std::int64_t pid, int host) = 0;
  virtual void rankWrote(int rank, bool isError, std::string_view bytes) = 0;
  /// All that it wrote was handed on before, and its events are in its segment.
  virtual void rankEnded(int rank, const posix::ProcessEnd& end) = 0;
  /// Nothing will be heard of it any more. `why`: "host b was cut off: ...".
  virtual void rankLost(int rank, const std::string& why) = 0;
  /// Every rank's process is there.
  virtual void allStarted() = 0;
  /// The run cannot go on.
  virtual void runFailed(const base::Error& error) = 0;
  /// Somebody else than this program's user wants the run to stop: "host b".
  virtual void stopAsked(const std::string& who) = 0;
};

/// The ranks of a run, wherever their processes are. One thread, the event loop's.
class Ranks {
 public:
  virtual ~Ranks() = default;

  /// Starts them; the watcher outlives this. Error: nothing more is to be expected of those that
  /// were not started.
  virtual base::Status start(RankWatcher& watcher) = 0;

  /// Sends a signal to the rank; SIGKILL goes to its whole group. One that was not started yet
  /// will not be, and rankEnded() is called at once.
  virtual void send(int rank, int signal) = 0;

  /// Whether the rank is stopped (SIGSTOP).
  [[nodiscard]] virtual bool isSuspended(int rank) const = 0;

  /// Lets the ranks record events, or not.
  virtual void setCapture(bool enabled) = 0;

  /// Looks after what takes time. Called about ten times a second.
  virtual void tick() = 0;

  /// No rank runs any more: lets go of whatever started them. Blocks a few seconds at most.
  virtual void finish() = 0;
};

}  // namespace lockstep::launch::detail

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>

#include "engine/base/posix/ChildProcess.h"
#include "engine/base/posix/EventLoop.h"
#include "engine/launch/detail/JobParts.h"
#include "engine/launch/detail/LineServer.h"
#include "engine/launch/detail/WatchedChild.h"

namespace lockstep::launch::detail {

/// This host's part of a job: a command that is a child of this process, and the processes that
/// attach, which need not be its children (pidfd). Note [The parts of a job].
class LocalPart final : public JobParts {
 public:
  /// Listens at `socket` for processes. The loop outlives this. Error: kEnvironment.
  static base::Result<std::unique_ptr<LocalPart>> listen(posix::EventLoop& loop,
                                                         const std::filesystem::path& socket);
  ~LocalPart() override;
  LocalPart(const LocalPart&) = delete;
  LocalPart& operator=(const LocalPart&) = delete;

  /// Starts the command, which finds the socket in its environment (kAttachVariable). The watcher
  /// outlives this. Error (kEnvironment): there is no such program.
  base::Status start(posix::ChildProcess::Options command, PartWatcher& watcher);

  void send(int signal) override;
  void setCapture(bool enabled) override;

  /// Processes that have attached and not ended, as far as they can be seen from here.
  [[nodiscard]] int livingProcesses() const;

 private:
  struct Process {
    posix::Descriptor ended;  // not open: not visible from here, or it has ended
    trace::Segment* segment = nullptr;
  };

  explicit LocalPart(posix::EventLoop& loop) : loop_(loop) {}
  base::Result<Handover> attach(const Hello& hello, pid_t pid);
  void processEnded(int rank);

  posix::EventLoop& loop_;
  PartWatcher* watcher_ = nullptr;
  std::unique_ptr<LineServer> server_;
  std::unique_ptr<WatchedChild> command_;
  std::map<int, Process> processes_;  // by rank: the last, where another took its place
};

}  // namespace lockstep::launch::detail

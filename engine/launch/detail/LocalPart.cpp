#include "engine/launch/detail/LocalPart.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "engine/base/Environment.h"
#include "engine/base/Try.h"
#include "engine/launch/Job.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {

base::Result<std::unique_ptr<LocalPart>> LocalPart::listen(posix::EventLoop& loop,
                                                           const std::filesystem::path& socket) {
  std::unique_ptr<LocalPart> part(new LocalPart(loop));
  part->server_ = LOCKSTEP_TRY(listenForProcesses(
      loop, socket,
      [raw = part.get()](const Hello& hello, pid_t pid) { return raw->attach(hello, pid); }));
  return part;
}

LocalPart::~LocalPart() {
  // Kills the command where it is still there, and so before the socket that its processes use
  // goes.
  command_.reset();
  for (const auto& [rank, process] : processes_) {
    loop_.remove(process.ended.get());
  }
}

base::Status LocalPart::start(posix::ChildProcess::Options command, PartWatcher& watcher) {
  watcher_ = &watcher;
  // One that is there is of a recorder that this one runs under.
  base::setVariable(command.environment, kAttachVariable, server_->path().string());
  command_ = LOCKSTEP_TRY(WatchedChild::start(loop_, command,
                                              {[this](bool isError, std::string_view bytes) {
                                                 watcher_->commandWrote(kHere, isError, bytes);
                                               },
                                               [this](const posix::ProcessEnd& end) {
                                                 command_.reset();
                                                 watcher_->commandEnded(kHere, end);
                                               }}));
  watcher_->commandStarted(kHere, trace::hostName(), command_->process().pid());
  return {};
}

base::Result<Handover> LocalPart::attach(const Hello& hello, pid_t pid) {
  if (watcher_ == nullptr) {
    return base::Error{base::ExitCode::kBadInput, "the command was not started yet", "attach"};
  }
  const auto admitted = LOCKSTEP_TRY(watcher_->attaches({kHere, hello, pid}));
  trace::Segment& segment = *admitted.segment;
  const auto [found, isFirst] = processes_.try_emplace(hello.rank);
  Process& process = found->second;
  if (!isFirst) {
    // The memory is that of the process before it, whose last words would be taken for this one's.
    segment.lastWords().finished.store(0);
    segment.lastWords().error[0] = '\0';
  }
  process.segment = &segment;
  loop_.remove(process.ended.get());
  // A process in another pid namespace cannot be watched: of it no end is heard, and it counts as
  // gone with the command.
  process.ended = pid > 0 ? posix::watchProcess(pid) : posix::Descriptor();
  if (process.ended.open()) {
    static_cast<void>(
        loop_.add(process.ended.get(), [this, rank = hello.rank] { processEnded(rank); }));
  }
  return Handover{segment.fd(), admitted.step};
}

void LocalPart::processEnded(int rank) {
  Process& process = processes_.at(rank);
  if (process.ended.open()) {
    loop_.remove(process.ended.get());
    process.ended.reset();
    watcher_->processEnded(rank);
  }
}

void LocalPart::send(int signal) {
  if (command_) {
    command_->process().send(signal);
  }
  for (const auto& [rank, process] : processes_) {
    // By its pidfd, which cannot mean another process that has got the same number. Other signals
    // are the command's to pass on, as torchrun does.
    if (signal == SIGKILL && process.ended.open()) {
      static_cast<void>(syscall(SYS_pidfd_send_signal, process.ended.get(), SIGKILL, nullptr, 0));
    }
  }
}

void LocalPart::setCapture(bool enabled) {
  for (const auto& [rank, process] : processes_) {
    process.segment->header().captureEnabled.store(enabled ? 1 : 0, std::memory_order_relaxed);
  }
}

int LocalPart::livingProcesses() const {
  return static_cast<int>(
      std::count_if(processes_.begin(), processes_.end(),
                    [](const auto& process) { return process.second.ended.open(); }));
}

}  // namespace lockstep::launch::detail

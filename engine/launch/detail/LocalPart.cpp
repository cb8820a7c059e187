#include "engine/launch/detail/LocalPart.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <utility>

#include "engine/launch/Job.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr int kMostCommandReads = 64;

}  // namespace

base::Result<std::unique_ptr<LocalPart>> LocalPart::listen(EventLoop& loop,
                                                           const std::filesystem::path& socket) {
  std::unique_ptr<LocalPart> part(new LocalPart(loop));
  auto server = listenForProcesses(loop, socket, [raw = part.get()](const Hello& hello, pid_t pid) {
    return raw->attach(hello, pid);
  });
  if (!server.ok()) {
    return server.error();
  }
  part->server_ = std::move(server).value();
  return part;
}

LocalPart::~LocalPart() {
  letCommandGo();
  for (const auto& [rank, process] : processes_) {
    if (process.pidFd >= 0) {
      loop_.remove(process.pidFd);
      close(process.pidFd);
    }
  }
}

base::Status LocalPart::start(ChildProcess::Options command, PartWatcher& watcher) {
  watcher_ = &watcher;
  // One that is there is of a recorder that this one runs under.
  setVariable(command.environment, kAttachVariable, server_->path().string());
  auto process = ChildProcess::spawn(command);
  if (!process.ok()) {
    return process.error();
  }
  command_.emplace(std::move(process).value());
  watcher_->commandStarted(kHere, trace::hostName(), command_->pid());
  const std::array<std::pair<int, std::function<void()>>, 3> watched{{
      {command_->outputFd(), [this] { readOutput(false); }},
      {command_->errorFd(), [this] { readOutput(true); }},
      {command_->pidFd(), [this] { commandMayHaveEnded(); }},
  }};
  for (const auto& [fd, callback] : watched) {
    if (auto added = loop_.add(fd, callback); !added.ok()) {
      return added;
    }
  }
  return {};
}

base::Result<Handover> LocalPart::attach(const Hello& hello, pid_t pid) {
  if (watcher_ == nullptr) {
    return base::Error{base::ExitCode::kBadInput, "the command was not started yet", "attach"};
  }
  const auto admitted = watcher_->attaches({kHere, hello, pid});
  if (!admitted.ok()) {
    return admitted.error();
  }
  trace::Segment& segment = *admitted.value().segment;
  const auto [found, isFirst] = processes_.try_emplace(hello.rank);
  Process& process = found->second;
  if (!isFirst) {
    segment.lastWords().finished.store(0);
    segment.lastWords().error[0] = '\0';
  }
  process.segment = &segment;
  // The C library of Debian 12 declares its own wrapper in a way that C++ cannot link.
  process.pidFd = pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (process.pidFd >= 0) {
    static_cast<void>(loop_.add(process.pidFd, [this, rank = hello.rank] { processEnded(rank); }));
  }
  return Handover{segment.fd(), admitted.value().step};
}

void LocalPart::processEnded(int rank) {
  Process& process = processes_.at(rank);
  if (process.pidFd >= 0) {
    loop_.remove(process.pidFd);
    close(std::exchange(process.pidFd, -1));
    watcher_->processEnded(rank);
  }
}

void LocalPart::readOutput(bool isError) {
  const int fd = !command_ ? -1 : isError ? command_->errorFd() : command_->outputFd();
  if (fd < 0) {
    return;
  }
  std::array<char, kPieceBytes> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    watcher_->commandWrote(kHere, isError, {buffer.data(), static_cast<std::size_t>(count)});
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.remove(fd);
    isError ? command_->closeError() : command_->closeOutput();
  }
}

void LocalPart::commandMayHaveEnded() {
  const auto end = command_ ? command_->reap() : std::nullopt;
  if (!end) {
    return;
  }
  for (const bool isError : {false, true}) {
    for (int reads = 0; reads < kMostCommandReads;
         ++reads) {  // a descendant may hold the pipe open
      readOutput(isError);
    }
  }
  letCommandGo();
  watcher_->commandEnded(kHere, *end);
}

void LocalPart::letCommandGo() {
  if (command_) {
    for (const int fd : {command_->outputFd(), command_->errorFd(), command_->pidFd()}) {
      loop_.remove(fd);
    }
    command_.reset();
  }
}

void LocalPart::send(int signal) {
  if (command_) {
    command_->send(signal);
  }
  for (const auto& [rank, process] : processes_) {
    if (signal == SIGKILL && process.pidFd >= 0) {
      static_cast<void>(syscall(SYS_pidfd_send_signal, process.pidFd, SIGKILL, nullptr, 0));
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
                    [](const auto& process) { return process.second.pidFd >= 0; }));
}

}  // namespace lockstep::launch::detail

// The command of a RemoteRanks that starts the relays, mpirun or srun.

#include <unistd.h>

#include <array>
#include <cerrno>

#include "engine/launch/Obituary.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/LauncherCommand.h"
#include "engine/launch/detail/RemoteRanks.h"

namespace lockstep::launch::detail {
namespace {

using base::ExitCode;

constexpr int kMostReads = 64;

}  // namespace

base::Status RemoteRanks::startLauncher() {
  const auto command = launcherCommand(options_.launch, options_.worldSize, options_.joinProgram);
  std::string line;
  for (const std::string& word : command) {
    line += (line.empty() ? "" : " ") + word;
  }
  recorder_.addLog(-1, "starts: " + line);
  auto process =
      ChildProcess::spawn({fmt::format("launch.launcher \"{}\"", options_.launch.launcher),
                           command.front(),
                           {command.begin() + 1, command.end()},
                           launcherEnvironment(options_.ticket, inheritedEnvironment())});
  if (!process.ok()) {
    return process.error();
  }
  launcher_.emplace(std::move(process).value());
  for (const bool isError : {false, true}) {
    const int fd = isError ? launcher_->errorFd() : launcher_->outputFd();
    if (auto added = loop_.add(fd, [this, isError] { readLauncher(isError); }); !added.ok()) {
      return added;
    }
  }
  return loop_.add(launcher_->pidFd(), [this] { launcherMayHaveEnded(); });
}

void RemoteRanks::readLauncher(bool isError) {
  const int fd = !launcher_ ? -1 : isError ? launcher_->errorFd() : launcher_->outputFd();
  if (fd < 0) {
    return;
  }
  std::array<char, 16 * 1024> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) {
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    watcher_->rankWrote(-1, isError, bytes);
    launcherErrors_.feed(bytes);
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.remove(fd);
    isError ? launcher_->closeError() : launcher_->closeOutput();
  }
}

void RemoteRanks::launcherMayHaveEnded() {
  const auto end = launcher_ ? launcher_->reap() : std::nullopt;
  if (!end) {
    return;
  }
  for (const bool isError : {false, true}) {
    for (int reads = 0; reads < kMostReads; ++reads) {
      readLauncher(isError);
    }
  }
  for (const int fd : {launcher_->outputFd(), launcher_->errorFd(), launcher_->pidFd()}) {
    loop_.remove(fd);
  }
  launcher_.reset();
  const std::string how = end->signal != 0 ? "was ended by " + signalName(end->signal)
                                           : fmt::format("ended with exit code {}", end->exitCode);
  recorder_.addLog(-1, fmt::format("{} {}", options_.launch.launcher, how));
  if (const auto absent = ranksWithoutRelay(); !absent.empty() && !peers_.isLeaving()) {
    const std::string said = launcherErrors_.firstWords();  // all of it stands in the log
    watcher_->runFailed({ExitCode::kEnvironment,
                         fmt::format("{} {} before {} had joined{}{}", options_.launch.launcher,
                                     how, rankList(absent), said.empty() ? "" : ": ", said),
                         ""});
    abandonAwaited();
  }
}

}  // namespace lockstep::launch::detail

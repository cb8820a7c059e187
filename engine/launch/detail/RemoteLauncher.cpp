// The command of a RemoteRanks that starts the relays, mpirun or srun.

#include "engine/base/Environment.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/launch/Obituary.h"
#include "engine/launch/detail/LauncherCommand.h"
#include "engine/launch/detail/RemoteRanks.h"

namespace lockstep::launch::detail {

using base::ExitCode;

base::Status RemoteRanks::startLauncher() {
  const auto command = launcherCommand(options_.launch, options_.worldSize, options_.joinProgram);
  std::string line;
  for (const std::string& word : command) {
    line += (line.empty() ? "" : " ") + word;
  }
  recorder_.addLog(-1, "starts: " + line);
  launcher_ = LOCKSTEP_TRY(
      WatchedChild::start(loop_,
                          {fmt::format("launch.launcher \"{}\"", options_.launch.launcher),
                           command.front(),
                           {command.begin() + 1, command.end()},
                           launcherEnvironment(options_.ticket, base::inheritedEnvironment())},
                          {[this](bool isError, std::string_view bytes) {
                             watcher_->rankWrote(-1, isError, bytes);
                             launcherErrors_.feed(bytes);
                           },
                           [this](const posix::ProcessEnd& end) { launcherHasEnded(end); }}));
  return {};
}

void RemoteRanks::launcherHasEnded(const posix::ProcessEnd& end) {
  launcher_.reset();
  const std::string how = end.signal != 0 ? "was ended by " + signalName(end.signal)
                                          : fmt::format("ended with exit code {}", end.exitCode);
  recorder_.addLog(-1, fmt::format("{} {}", options_.launch.launcher, how));
  // Relays that have come tell of themselves; who starts them is needed only until then.
  if (const auto absent = ranksWithoutRelay(); !absent.empty() && !peers_.isLeaving()) {
    const std::string said = launcherErrors_.firstWords();  // all of it stands in the log
    watcher_->runFailed({ExitCode::kEnvironment,
                         fmt::format("{} {} before {} had joined{}{}", options_.launch.launcher,
                                     how, base::ranksText(absent), said.empty() ? "" : ": ", said),
                         ""});
    abandonAwaited();
  }
}

}  // namespace lockstep::launch::detail

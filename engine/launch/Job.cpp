#include "engine/launch/Job.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/launch/ControlSocket.h"
#include "engine/launch/SignalQueue.h"
#include "engine/launch/detail/Attaching.h"
#include "engine/launch/detail/Observation.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch {
namespace {

/// As a shell would take it.
std::string commandLine(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n\"'\\$`*?;&|<>(){}[]!#~") == std::string::npos;
    std::string quoted;
    for (const char c : word) {
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + quoted + "'");
  }
  return text;
}

trace::RunInfo firstInfo(const JobOptions& options, const std::string& runId,
                         const std::filesystem::path& controlSocket) {
  trace::RunInfo info;
  info.runId = runId;
  info.name = options.name;
  info.kind = trace::RunKind::kObserved;
  info.command = commandLine(options.command);
  info.startedAt = detail::utcNow();
  info.supervisorPid = getpid();
  info.supervisorStart = trace::processStart(getpid());
  info.controlSocket = controlSocket.string();
  info.hostName = trace::hostName();
  info.environment = detail::hostEnvironment();
  return info;
}

/// Of a run that was none nothing is left.
void removeRunFile(const std::filesystem::path& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path.string() + suffix, ignored);
  }
}

}  // namespace

base::Result<JobOutcome> recordJob(const JobOptions& options) {
  auto loop = EventLoop::create();
  if (!loop.ok()) {
    return loop.error();
  }
  // From here on every thread that starts has the signals blocked.
  auto signals = SignalQueue::create();
  if (!signals.ok()) {
    return signals.error();
  }
  const std::string runId = detail::makeRunId();
  const std::filesystem::path folder =
      options.controlDirectory.empty() ? controlDirectory() : options.controlDirectory;
  std::optional<detail::Observation> observation;
  auto control = ControlServer::listen(
      loop.value(), folder, runId,
      [&observation](const ControlCommand& command) { return observation->answer(command); });
  if (!control.ok()) {
    return control.error();
  }
  const std::filesystem::path attachPath = folder / (runId + ".attach.sock");
  auto attach = detail::listenForProcesses(loop.value(), attachPath,
                                           [&observation](const detail::Hello& hello, pid_t pid) {
                                             return observation->attach(hello, pid);
                                           });
  if (!attach.ok()) {
    return attach.error();
  }
  auto created = detail::createRunFile(options.runFile, options.numberIfTaken);
  if (!created.ok()) {
    return created.error();
  }
  ChildProcess::Options start{"the command", options.command.front(), {}, options.environment};
  start.arguments.assign(options.command.begin() + 1, options.command.end());
  start.environment.push_back(kAttachVariable + "=" + attachPath.string());
  auto command = ChildProcess::spawn(start);
  if (!command.ok()) {
    created.value().writer.reset();
    removeRunFile(created.value().path);
    return command.error();
  }
  observation.emplace(options, loop.value(), *signals.value(), std::move(created.value().writer),
                      firstInfo(options, runId, control.value()->path()));
  JobOutcome outcome = observation->run(std::move(command).value());
  attach.value().reset();
  control.value().reset();
  const base::Status finished = observation->finish();
  if (!observation->hasRecorded()) {
    removeRunFile(created.value().path);
    return outcome;
  }
  outcome.runFile = created.value().path;
  if (!finished.ok()) {
    outcome.warning =
        "the run file is incomplete, training was not affected: " + finished.error().message();
  }
  if (const trace::RunInfo ended = observation->info(); ended.state == trace::RunState::kDiverged) {
    outcome.state = ended.state;
    outcome.failure = ended.divergence->text;
  }
  return outcome;
}

}  // namespace lockstep::launch

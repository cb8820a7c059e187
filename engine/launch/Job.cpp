#include "engine/launch/Job.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/base/ShellWords.h"
#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"
#include "engine/launch/SignalQueue.h"
#include "engine/launch/detail/Head.h"
#include "engine/launch/detail/LocalPart.h"
#include "engine/launch/detail/Observation.h"
#include "engine/launch/detail/Preparation.h"

namespace lockstep::launch {
namespace {

trace::RunInfo infoOf(const JobOptions& options, const std::string& runId,
                      const std::filesystem::path& controlSocket) {
  trace::RunInfo info = detail::firstInfo(runId, options.name, controlSocket);
  info.kind = trace::RunKind::kObserved;
  info.command = base::shellLine(options.command);
  std::error_code unknown;
  // A command's relative paths mean something only with it.
  info.environment["folder"] = std::filesystem::current_path(unknown).string();
  return info;
}

/// Of a run that was none nothing is left.
void removeRunFile(const std::filesystem::path& path) {
  std::error_code ignored;
  // SQLite's own two stand beside a file that was not closed.
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::filesystem::remove(path.string() + suffix, ignored);
  }
}

base::Result<detail::Head> listenForRelays(const JobOptions& options) {
  // The head of an observed job is that of an experiment whose relays are started by hand.
  experiment::LaunchConfig launch;
  if (options.listen) {
    launch.launcher = "external";
    launch.nnodes = 2;  // or more
    launch.listen = *options.listen;
  }
  auto head = detail::Head::prepare(launch);
  if (!head.ok() && options.listen) {
    base::Error error = head.error();
    error.where = "--listen" + (options.listen->empty() ? "" : " " + *options.listen);
    return error;
  }
  return head;
}

void announce(const JobOptions& options, const std::string& recorder,
              const std::filesystem::path& tokenFile) {
  if (recorder.empty() || !options.announce) {
    return;
  }
  options.announce(fmt::format("listens at {} for the job's other hosts; the run token is in {}",
                               recorder, tokenFile.string()));
  options.announce(
      fmt::format("on each of them, with a copy of that file: lockstep join "
                  "--token-file {} -- COMMAND",
                  tokenFile.string()));
}

posix::ChildProcess::Options commandOf(const JobOptions& options, const detail::Head& head) {
  posix::ChildProcess::Options command{
      "the command", options.command.front(), {}, options.environment};
  command.arguments.assign(options.command.begin() + 1, options.command.end());
  head.addTicket(command.environment);
  return command;
}

}  // namespace

// The order matters: signals are blocked before any thread starts; sockets are there before the
// command that looks for them; the run file is made before, too, so that a place that cannot be
// written costs no training. It is removed again where no process attached.
base::Result<JobOutcome> recordJob(const JobOptions& options) {
  auto watch = LOCKSTEP_TRY(Watch::create());
  posix::EventLoop& loop = watch.loop;
  const std::string runId = detail::makeRunId();
  const std::filesystem::path folder = controlDirectory(options.controlDirectory);
  std::optional<detail::Observation> observation;
  auto control = LOCKSTEP_TRY(ControlServer::listen(
      loop, folder, runId,
      [&observation](const ControlCommand& command) { return observation->answer(command); }));
  auto here = LOCKSTEP_TRY(detail::LocalPart::listen(loop, folder / (runId + ".attach.sock")));
  auto head = LOCKSTEP_TRY(listenForRelays(options));
  auto created = LOCKSTEP_TRY(detail::createRunFile(options.runFile, options.numberIfTaken));
  observation.emplace(options, loop, *watch.signals, std::move(created.writer),
                      infoOf(options, runId, control->path()));
  const std::filesystem::path tokenFile =
      options.tokenFile.empty() ? folder / (runId + ".token") : options.tokenFile;
  auto elsewhere = head.makeParts(tokenFile, runId, loop, observation->watcher());
  auto started = elsewhere.ok() ? base::Status() : base::Status(elsewhere.error());
  if (started.ok()) {
    announce(options, head.recorder(), tokenFile);
    started = here->start(commandOf(options, head), observation->watcher());
  }
  if (!started.ok()) {
    static_cast<void>(observation->finish());
    removeRunFile(created.path);
    return started.error();
  }
  JobOutcome outcome = observation->run({here.get(), elsewhere.value().get()});
  control.reset();
  const base::Status finished = observation->finish();
  if (!observation->hasRecorded()) {
    removeRunFile(created.path);
    return outcome;
  }
  outcome.runFile = created.path;
  if (!finished.ok()) {
    outcome.warning =
        "the run file is incomplete, training was not affected: " + finished.error().message();
  }
  // The recorder has watched the replicas; whether they diverged is known once all is written.
  if (const trace::RunInfo ended = observation->info(); ended.state == trace::RunState::kDiverged) {
    outcome.state = ended.state;
    outcome.failure = ended.divergence->text;
  }
  return outcome;
}

}  // namespace lockstep::launch

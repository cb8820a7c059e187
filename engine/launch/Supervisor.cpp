#include "engine/launch/Supervisor.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "engine/base/Try.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/Head.h"
#include "engine/launch/detail/LocalRanks.h"
#include "engine/launch/detail/Preparation.h"
#include "engine/launch/detail/Supervision.h"
#include "engine/store/PrefixStore.h"
#include "engine/store/Rendezvous.h"
#include "engine/store/TCPStore.h"

namespace lockstep::launch {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kDrainEvery = std::chrono::milliseconds(20);

base::Result<std::unique_ptr<store::TCPStore>> hostStore(const experiment::Experiment& experiment,
                                                         const detail::Head& head,
                                                         const std::string& token) {
  const int port = experiment.processes.masterPort;
  try {
    store::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(port);
    options.isServer = true;
    options.listenAddress = head.storeBind();
    // The supervisor is a client that trains nothing: it must not wait for ranks that it has yet to
    // start.
    options.waitForWorkers = false;
    options.token = token;
    return std::make_unique<store::TCPStore>(head.storeAddress(), options);
  } catch (const store::StoreError& error) {
    return Error{ExitCode::kEnvironment, error.what(),
                 fmt::format("processes.master_port = {}", port)};
  }
}

trace::RunInfo infoOf(const LaunchOptions& options, const detail::Resources& resources,
                      const std::filesystem::path& controlSocket) {
  const experiment::Experiment& experiment = options.experiment;
  trace::RunInfo info = detail::firstInfo(resources.runId, experiment.name, controlSocket);
  info.experimentToml = options.experimentToml;
  info.worldSize = experiment.processes.worldSize;
  info.plannedSteps = static_cast<std::uint32_t>(experiment.train.steps.value_or(0));
  return info;
}

capture::DetailOptions detailOf(const experiment::CaptureConfig& capture) {
  constexpr std::uint64_t kMiB = 1 << 20;
  return {capture::detailNamed(capture.detail), static_cast<std::uint64_t>(capture.limitMb) * kMiB};
}

std::unique_ptr<detail::Ranks> childRanks(const LaunchOptions& options,
                                          detail::Resources& resources, posix::EventLoop& loop,
                                          const std::filesystem::path& program) {
  RankPlace place;
  place.worldSize = options.experiment.processes.worldSize;
  place.masterPort = resources.masterPort;
  place.runId = resources.runId;
  place.storeToken = resources.storeToken;
  place.threads = options.experiment.processes.threadsPerRank;
  place.supervisorPid = getpid();
  std::vector<detail::LocalRanks::Rank> ranks;
  for (trace::Segment& segment : resources.segments) {
    place.rank = static_cast<int>(ranks.size());
    ranks.push_back({place, &segment});
  }
  return std::make_unique<detail::LocalRanks>(loop, program, options.experimentToml,
                                              std::move(ranks));
}

void noteIncomplete(const Error& error, LaunchOutcome& outcome) {
  outcome.warning =
      "the run file is incomplete, training was not affected: " + error.message();
  if (outcome.exitCode == ExitCode::kOk) {
    outcome.exitCode = ExitCode::kEnvironment;
  }
}

}  // namespace

// Everything that can be refused is made before the ranks: program, descriptors, port, store,
// memory, control socket, run file. Until then an error leaves nothing; from the recorder's start
// on every failure is a run that failed, with a file that says so. What is made later ends earlier:
// the recorder reads the segments.
base::Result<LaunchOutcome> superviseRun(
    const LaunchOptions& options, const std::function<void(const LaunchProgress&)>& progress) {
  auto loop = LOCKSTEP_TRY(posix::EventLoop::create());
  detail::Resources resources;
  resources.runId = detail::makeRunId();
  resources.storeToken = detail::makeStoreToken();
  const experiment::LaunchConfig& launch = options.experiment.launch;
  std::filesystem::path rankProgram = options.rankProgram;
  if (rankProgram.empty() && launch.isLocal()) {
    rankProgram = LOCKSTEP_TRY(findRankProgram());
  }
  LOCKSTEP_TRY(detail::ensureDescriptors(options.experiment.processes.worldSize));
  // From here on every thread that starts has the signals blocked.
  resources.signals = LOCKSTEP_TRY(SignalQueue::create());
  auto head = LOCKSTEP_TRY(detail::Head::prepare(launch));
  auto tcpStore = LOCKSTEP_TRY(hostStore(options.experiment, head, resources.storeToken));
  resources.masterPort = tcpStore->port();
  resources.store = std::make_unique<store::PrefixStore>(
      store::attemptPrefix(0), std::shared_ptr<store::Store>(std::move(tcpStore)));
  resources.segments = LOCKSTEP_TRY(
      detail::makeSegments(options.experiment, options.experiment.processes.worldSize));

  std::optional<detail::Supervision> supervision;
  auto control = LOCKSTEP_TRY(ControlServer::listen(
      loop, controlDirectory(options.controlDirectory), resources.runId,
      [&supervision](const ControlCommand& command) { return supervision->answer(command); }));
  auto created = LOCKSTEP_TRY(detail::createRunFile(options.runFile, options.numberIfTaken));
  resources.recorder = detail::startRecorder(
      std::move(created.writer), infoOf(options, resources, control->path()), resources.segments,
      {kDrainEvery, options.experiment.capture.countersHz}, detailOf(options.experiment.capture));

  if (launch.isLocal()) {
    resources.ranks = childRanks(options, resources, loop, rankProgram);
  } else {
    resources.ranks = LOCKSTEP_TRY(head.makeRanks(options, resources, loop));
  }
  supervision.emplace(options, resources, loop, progress);
  LaunchOutcome outcome = supervision->run();
  outcome.runFile = created.path;

  control.reset();
  if (const base::Status recorded = resources.recorder->status(); !recorded.ok()) {
    noteIncomplete(recorded.error(), outcome);
    // Of a full file the recorder still renews the rows that say how the run ended.
    resources.recorder->updateInfo([&outcome](trace::RunInfo& info) {
      info.exitCode = static_cast<int>(outcome.exitCode);
      if (info.failure.empty()) {
        info.failure = outcome.warning;
      }
    });
  }
  if (const base::Status finished = resources.recorder->finish();
      !finished.ok() && outcome.warning.empty()) {
    noteIncomplete(finished.error(), outcome);
  }
  // Only the recorder sees whether replicas diverged, and the last sample may come at the very end.
  if (const trace::RunInfo ended = resources.recorder->info();
      ended.state == trace::RunState::kDiverged) {
    outcome.state = ended.state;
    outcome.exitCode = ExitCode::kDiverged;
    outcome.failure = ended.divergence->text;
  }
  return outcome;
}

}  // namespace lockstep::launch

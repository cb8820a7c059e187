#include "app/rank/RankRun.h"

#include <fmt/ranges.h>
#include <torch/version.h>
#include <unistd.h>

#include "app/rank/Process.h"
#include "app/rank/Replica.h"
#include "engine/base/Log.h"
#include "engine/base/Try.h"
#include "engine/cost/Probe.h"
#include "engine/store/Rendezvous.h"
#include "engine/trace/CoreWait.h"
#include "engine/trace/Event.h"
#include "engine/trace/EventCost.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/Messages.h"
#include "engine/train/ComputeDevice.h"
#include "engine/train/Farewell.h"
#include "engine/train/Fingerprint.h"
#include "engine/train/Safetensors.h"
#include "engine/train/Threads.h"

namespace lockstep::rank {

using base::Error;
using base::ExitCode;
using base::Status;
using trace::StartupStage;

// Note [The life of a rank]
// A rank goes through these stages. The first five are kStartup spans on the lane "step", so that a
// run file says where the time before the first step went:
//
//   spawn       from the kernel's start of the process to main(): above all loading libtorch
//   rendezvous  the store, the default group, the probe of the network
//   data        all samples, which every rank has
//   model       parameters and optimizer, or those of a checkpoint
//   buckets     DDP: the ranks compare their models
//   steps       as TrainLoop.h says
//   farewell    all ranks have come to their end before any closes its connections
//
// Cores and device come before the rendezvous: a rank that has none ends before it has met anyone.
// And pinning comes before all that makes threads, since a thread runs on the cores of the one that
// made it.
//
// Until the loop is made, SIGTERM ends the process as it ends any other. From then on a stop is
// something that the ranks agree on, since one that left between two collectives would leave the
// others waiting in the second.

RankRun::RankRun(train::TorchrunEnvironment environment, experiment::Experiment experiment,
                 plugin::HookChoice hooks, std::unique_ptr<trace::Tracer> tracer)
    : environment_(std::move(environment)),
      experiment_(std::move(experiment)),
      hooks_(std::move(hooks)),
      tracer_(std::move(tracer)),
      lane_(tracer_->lane("step")) {}

base::Result<train::TrainOutcome> RankRun::run(base::ClockReading started, std::int64_t ageNs) {
  LOCKSTEP_TRY(setThreads());
  device_ = LOCKSTEP_TRY(train::chooseDevice(experiment_.processes.device, environment_.localRank));
  LOCKSTEP_TRY(meet());
  recordSpawn(started, ageNs);
  return train();
}

Status RankRun::setThreads() {
  const auto& processes = experiment_.processes;
  if (processes.pinning == "cores") {
    cores_ = LOCKSTEP_TRY(train::pinToCores(environment_.localRank, processes.threadsPerRank));
  }
  train::setComputeThreads(processes.threadsPerRank);
  return {};
}

Status RankRun::meet() {
  const auto span = stage(StartupStage::kRendezvous);
  if (experiment_.processes.strategy == "data_parallel" && environment_.worldSize != 1) {
    return Error{ExitCode::kBadInput,
                 fmt::format("is {}; processes.strategy \"data_parallel\" is one process",
                             environment_.worldSize),
                 "environment WORLD_SIZE"};
  }
  // torchrun and its like decide how many processes there are. An experiment file that says another
  // number is no reason to end a job that others have set up.
  if (environment_.worldSize != experiment_.processes.worldSize) {
    base::logInfo("WORLD_SIZE is {}, processes.world_size {}; the former counts",
                  environment_.worldSize, experiment_.processes.worldSize);
  }
  auto met = LOCKSTEP_TRY(store::rendezvous(environment_, timeLimit(experiment_)));
  store_ = std::move(met.store);
  groups_ = std::make_unique<Groups>(experiment_, environment_, store_, *tracer_);
  group_ = LOCKSTEP_TRY(groups_->makeDefault());
  return measureNetwork();
}

// Through the memory of the host: of a device it would tell another road.
Status RankRun::measureNetwork() {
  if (!experiment_.capture.enabled || !device_.is_cpu() || environment_.worldSize < 2) {
    return {};
  }
  const auto probe = LOCKSTEP_TRY(groups_->probe());
  probe_ = cost::probeText(probe.allreduces);
  nextPeer_ = cost::probeText(probe.nextPeer);
  return {};
}

base::Result<train::TrainOutcome> RankRun::train() {
  // Rank 0 writes the checkpoints, the first after hours perhaps.
  if (const auto& checkpoint = experiment_.train.checkpoint;
      environment_.rank == 0 && !checkpoint.empty()) {
    if (auto writable = train::checkWritable(checkpoint); !writable.ok()) {
      return writable.error().within("train.checkpoint");
    }
  }
  const train::Datasets datasets = LOCKSTEP_TRY([&] {
    const auto span = stage(StartupStage::kData);
    return train::makeDatasets(experiment_);
  }());
  const auto samples = datasets.train->size();
  if (samples < environment_.worldSize && experiment_.data.dropLast) {
    return Error{ExitCode::kBadInput,
                 fmt::format("{} samples are fewer than {} ranks, and data.drop_last leaves none",
                             samples, environment_.worldSize),
                 "data"};
  }
  train::FaultInjector faults(experiment_, environment_.rank, *tracer_);
  // On a thread of its own, while the step thread is inside the hook's code and may never come
  // back: whatever is to be said is said here, and the process ends without it.
  const auto hookStuck = [this](const std::string& text) {
    const Error error{ExitCode::kHookFailed, text, ""};
    abandon(error);
    report(fmt::format("rank {}", environment_.rank), error);
    leave(error.code);
  };
  Replica replica(experiment_, hooks_, *groups_, group_, *tracer_, lane_, faults, hookStuck);
  {
    const auto span = stage(StartupStage::kModel);
    LOCKSTEP_TRY(replica.makeModel(datasets.train->shape(), device_));
  }
  {
    const auto span = stage(StartupStage::kBuckets);
    LOCKSTEP_TRY(replica.distribute());
  }
  train::TrainLoop loop(replica.parts(datasets, *store_, listenForStop()));
  if (!experiment_.train.resumeFrom.empty()) {
    LOCKSTEP_TRY(loop.resume(replica.position()));
  }
  sendEnvironment(replica.position().step, loop.plannedSteps());
  if (!tracer_->recording()) {
    base::logInfo("training {} steps on {} ranks", loop.plannedSteps(), environment_.worldSize);
  }
  auto outcome = loop.run();
  if (outcome.ok()) {
    LOCKSTEP_TRY(finish(outcome.value(), replica.model()));
  }
  return outcome;
}

Status RankRun::finish(const train::TrainOutcome& outcome, const train::Model& model) {
  const trace::SummaryMessage summary{static_cast<std::uint32_t>(outcome.steps), outcome.loss,
                                      train::parameterHash(model)};
  tracer_->send(trace::toJson(summary));
  if (!tracer_->recording()) {
    base::logInfo("{}: {} steps, loss {:.4f}, parameter hash {}",
                  outcome.stopped ? "stopped" : "done", summary.steps, summary.loss,
                  summary.parameterHash);
  }
  LOCKSTEP_TRY(train::leaveTogether(*store_, environment_.rank, environment_.worldSize,
                                    environment_.hostsStore, timeLimit(experiment_)));
  tracer_->lastWords().finished.store(1, std::memory_order_release);
  return {};
}

void RankRun::abandon(const Error& error, const Culprits& culprits) {
  // The words first. They are memory that the supervisor shares, so that they are there however
  // this process ends, and the other ranks' errors, which abort() causes, come later than this one.
  const std::string line = oneLine(error.message());
  trace::LastWords& words = tracer_->lastWords();
  words.error[line.copy(words.error.data(), words.error.size() - 1)] = '\0';
  const std::size_t named = std::min(culprits.ranks.size(), words.culprits.size());
  for (std::size_t i = 0; i < named; ++i) {
    // Plus one, since memory that nobody wrote is 0, and rank 0 may be at fault, too.
    words.culprits[i] = culprits.ranks[i] + 1;
  }
  if (named != 0) {
    words.fault.store(static_cast<std::uint8_t>(culprits.fault), std::memory_order_relaxed);
  }
  // Ranks that wait in a collective end now, with this rank's reason in their error, and not when
  // their time limit is over.
  if (groups_ != nullptr) {
    groups_->abort(line);
  }
  if (experiment_.processes.strategy == "ddp") {
    // As c10d's Logger has them: `has_error` and `error` are its names.
    tracer_->send(trace::toJson(trace::DdpLoggingMessage{
        words.step.load(std::memory_order_relaxed), {{"has_error", "1"}, {"error", line}}, {}}));
  }
}

void RankRun::recordSpawn(base::ClockReading started, std::int64_t ageNs) {
  const auto clock = base::calibrate(started, base::readClock());
  const auto age = static_cast<std::uint64_t>(static_cast<double>(ageNs) / clock.nsPerTick);
  lane_.spanUntil(trace::EventKind::kStartup, started.ticks - age, started.ticks, 0,
                  trace::kNoBucket, 0, static_cast<std::uint16_t>(StartupStage::kSpawn));
}

void RankRun::sendEnvironment(std::int64_t firstStep, std::int64_t plannedSteps) {
  trace::EnvironmentMessage message;
  message.values = {
      {"libtorch", TORCH_VERSION},
      {"threads", std::to_string(experiment_.processes.threadsPerRank)},
      {"cores", cores_.empty() ? "any" : fmt::format("{}", fmt::join(cores_, " "))},
      {"host", trace::hostName()},
      {"pid", std::to_string(getpid())},
      {"device", device_.str()},
      {"backend", group_->backendName()},
      {"first_step", std::to_string(firstStep)},
      {"planned_steps", std::to_string(plannedSteps)},
      {"event_ns", fmt::format("{:.1f}", trace::eventCostNs())},
      {"core_waits", std::string(trace::coreWaitSource())},
  };
  if (!probe_.empty()) {
    message.values["probe"] = probe_;
  }
  if (!nextPeer_.empty()) {
    message.values["next_peer"] = nextPeer_;
  }
  tracer_->send(trace::toJson(message));
}

trace::ScopedSpan RankRun::stage(StartupStage stage) {
  return {lane_, trace::EventKind::kStartup,       0, &tracer_->lastWords(), trace::kNoBucket,
          0,     static_cast<std::uint16_t>(stage)};
}

}  // namespace lockstep::rank

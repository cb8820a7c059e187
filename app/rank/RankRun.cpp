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
  const auto probes = LOCKSTEP_TRY(groups_->probe());
  probe_ = cost::probeText(probes);
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
  const std::string line = oneLine(error.message());
  trace::LastWords& words = tracer_->lastWords();
  words.error[line.copy(words.error.data(), words.error.size() - 1)] = '\0';
  const std::size_t named = std::min(culprits.ranks.size(), words.culprits.size());
  for (std::size_t i = 0; i < named; ++i) {
    words.culprits[i] = culprits.ranks[i] + 1;
  }
  if (named != 0) {
    words.fault.store(static_cast<std::uint8_t>(culprits.fault), std::memory_order_relaxed);
  }
  if (groups_ != nullptr) {
    groups_->abort(line);
  }
  if (experiment_.processes.strategy == "ddp") {
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
  tracer_->send(trace::toJson(message));
}

trace::ScopedSpan RankRun::stage(StartupStage stage) {
  return {lane_, trace::EventKind::kStartup,       0, &tracer_->lastWords(), trace::kNoBucket,
          0,     static_cast<std::uint16_t>(stage)};
}

}  // namespace lockstep::rank

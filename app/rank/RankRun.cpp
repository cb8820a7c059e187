#include "app/rank/RankRun.h"

#include <ATen/Context.h>
#include <fmt/ranges.h>
#include <torch/version.h>
#include <unistd.h>

#include "app/rank/Ending.h"
#include "app/rank/Link.h"
#include "app/rank/Process.h"
#include "engine/base/Log.h"
#include "engine/hooks/MakeHook.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/shaped/ShapedGroup.h"
#include "engine/store/PrefixStore.h"
#include "engine/store/TCPStore.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/Messages.h"
#include "engine/train/Farewell.h"
#include "engine/train/MakeOptimizer.h"
#include "engine/train/ParameterHash.h"
#include "engine/train/Threads.h"
#include "engine/train/models/MakeModel.h"

namespace lockstep::rank {

using base::Error;
using base::ExitCode;
using base::Status;
using trace::StartupStage;

RankRun::RankRun(train::TorchrunEnvironment environment, experiment::Experiment experiment,
                 std::unique_ptr<trace::Tracer> tracer)
    : environment_(std::move(environment)),
      experiment_(std::move(experiment)),
      tracer_(std::move(tracer)),
      lane_(tracer_->lane("step")) {}

base::Result<train::TrainOutcome> RankRun::run(base::ClockReading started, std::int64_t ageNs) {
  if (auto set = setThreads(); !set.ok()) {
    return set.error();
  }
  if (auto met = meet(); !met.ok()) {
    return met.error();
  }
  recordSpawn(started, ageNs);
  return train();
}

Status RankRun::setThreads() {
  const auto& processes = experiment_.processes;
  if (processes.pinning == "cores") {
    auto cores = train::pinToCores(environment_.localRank, processes.threadsPerRank);
    if (!cores.ok()) {
      return cores.error();
    }
    cores_ = std::move(cores).value();
  }
  train::setComputeThreads(processes.threadsPerRank);
  return {};
}

Status RankRun::meet() {
  const auto span = stage(StartupStage::kRendezvous);
  if (environment_.worldSize != experiment_.processes.worldSize) {
    base::logInfo("WORLD_SIZE is {}, processes.world_size {}; the former counts",
                  environment_.worldSize, experiment_.processes.worldSize);
  }
  store::TCPStoreOptions options;
  options.port = environment_.storePort;
  options.isServer = environment_.hostsStore;
  options.timeout = timeout();
  try {
    store_ = std::make_shared<store::PrefixStore>(
        fmt::format("attempt {}", environment_.attempt),
        std::make_shared<store::TCPStore>(environment_.masterAddress, options));
  } catch (const store::StoreError& error) {
    if (!environment_.hostsStore) {
      throw;
    }
    return Error{ExitCode::kEnvironment, error.what(), "environment MASTER_PORT"};
  }
  if (auto claimed = claimRank(); !claimed.ok()) {
    return claimed;
  }
  process_group::GroupOptions groupOptions;
  groupOptions.timeout = timeout();
  groupOptions.tracer = tracer_.get();
  groupOptions.check = process_group::checkModeFrom(experiment_.processes.checked)
                           .value_or(process_group::CheckMode::kFirst);
  groupOptions.roundRobin = experiment_.processes.roundRobin;
  if (!experiment_.processes.interface.empty()) {
    groupOptions.interfaces = {experiment_.processes.interface};
  }
  auto group =
      process_group::makeProcessGroup(experiment_.processes.backend, store_, environment_.rank,
                                      environment_.worldSize, groupOptions);
  if (!group.ok()) {
    return group.error();
  }
  group_ = std::move(group).value();
  return experiment_.link.shapes() ? shapeLink() : Status();
}

Status RankRun::shapeLink() {
  process_group::ShapedOptions options;
  options.link = linkOptions(experiment_.link);
  options.simulateAnyway = experiment_.link.simulateAnyway;
  options.tracer = tracer_.get();
  auto shaped = process_group::ShapedGroup::make(group_, *store_, options);
  if (!shaped.ok()) {
    return shaped.error();
  }
  group_ = std::move(shaped).value();
  return {};
}

Status RankRun::claimRank() {
  const std::string self = fmt::format("process {} on {}", getpid(), trace::hostName());
  const std::string holder =
      store_->compareSet(fmt::format("rank/{}", environment_.rank), "", self);
  if (holder != self) {
    return Error{ExitCode::kBadInput,
                 fmt::format("is {} here ({}) and in {}; start each rank once", environment_.rank,
                             self, holder),
                 "environment RANK"};
  }
  return {};
}

base::Result<train::TrainOutcome> RankRun::train() {
  base::Result<train::Datasets> datasets = [&] {
    const auto span = stage(StartupStage::kData);
    return train::makeDatasets(experiment_);
  }();
  if (!datasets.ok()) {
    return datasets.error();
  }
  const auto samples = datasets.value().train->size();
  if (samples < environment_.worldSize && experiment_.data.dropLast) {
    return Error{ExitCode::kBadInput,
                 fmt::format("{} samples are fewer than {} ranks, and data.drop_last leaves none",
                             samples, environment_.worldSize),
                 "data"};
  }
  std::shared_ptr<train::Model> model;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  train::Position position;
  {
    const auto span = stage(StartupStage::kModel);
    at::manual_seed(static_cast<std::uint64_t>(experiment_.train.seed));
    auto made = train::makeModel(experiment_.model, datasets.value().train->shape());
    if (!made.ok()) {
      return made.error();
    }
    model = std::move(made).value();
    auto optimizerMade = train::makeOptimizer(experiment_.optimizer, model->parameters());
    if (!optimizerMade.ok()) {
      return optimizerMade.error();
    }
    optimizer = std::move(optimizerMade).value();
    if (!experiment_.train.resumeFrom.empty()) {
      auto loaded = train::loadCheckpoint(experiment_.train.resumeFrom, *model, *optimizer);
      if (!loaded.ok()) {
        return loaded.error();
      }
      position = loaded.value();
    }
  }
  train::FaultInjector faults(experiment_, environment_.rank, *tracer_);
  std::unique_ptr<ddp::SyncBatchNorm> batchNorm;
  std::unique_ptr<ddp::DistributedDataParallel> ddp;
  std::unique_ptr<ddp::ZeroRedundancyOptimizer> zero;
  {
    const auto span = stage(StartupStage::kBuckets);
    auto hook = hooks::makeHook(experiment_.hook.name, {group_, tracer_.get()});
    if (!hook.ok()) {
      return hook.error();
    }
    ddp::DdpOptions options;
    options.config = experiment_.ddp;
    options.hook = faults.around(std::move(hook).value());
    options.tracer = tracer_.get();
    options.findUnusedParameters = experiment_.ddp.findUnusedParameters;
    options.staticGraph = experiment_.ddp.staticGraph;
    options.initSync = experiment_.ddp.initSync;
    options.skipAllReduceUnusedParams = experiment_.ddp.skipAllReduceUnusedParams;
    if (experiment_.ddp.syncBatchNorm) {
      batchNorm = ddp::convertSyncBatchNorm(*model, group_, tracer_.get());
      if (batchNorm->layers().empty()) {
        return Error{
            ExitCode::kBadInput,
            fmt::format("model.kind \"{}\" has no batch normalisation", experiment_.model.kind),
            "ddp.sync_batch_norm"};
      }
    }
    ddp = std::make_unique<ddp::DistributedDataParallel>(model, group_, options);
    if (auto found = faults.watch(ddp->parameters()); !found.ok()) {
      return found.error();
    }
    if (experiment_.optimizer.zero) {
      zero = std::make_unique<ddp::ZeroRedundancyOptimizer>(ddp->parameters(), group_,
                                                            experiment_.optimizer, tracer_.get());
    }
  }
  train::TrainLoop loop({experiment_, *model, *ddp, *optimizer, datasets.value(), *group_, *store_,
                         *tracer_, lane_, listenForStop(), &faults, batchNorm.get(), zero.get()});
  if (!experiment_.train.resumeFrom.empty()) {
    if (auto resumed = loop.resume(position); !resumed.ok()) {
      return resumed.error();
    }
  }
  sendEnvironment(loop.plannedSteps());
  if (!tracer_->recording()) {
    base::logInfo("training {} steps on {} ranks", loop.plannedSteps(), environment_.worldSize);
  }
  auto outcome = loop.run();
  if (outcome.ok()) {
    if (auto finished = finish(outcome.value(), *model); !finished.ok()) {
      return finished.error();
    }
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
  if (auto left = train::leaveTogether(*store_, environment_.rank, environment_.worldSize,
                                       environment_.hostsStore, timeout());
      !left.ok()) {
    return left;
  }
  tracer_->lastWords().finished.store(1, std::memory_order_release);
  return {};
}

void RankRun::abandon(const Error& error) {
  auto& text = tracer_->lastWords().error;
  text[oneLine(error.message()).copy(text.data(), text.size() - 1)] = '\0';
  if (group_ != nullptr) {
    group_->abort(oneLine(error.message()));
  }
}

void RankRun::recordSpawn(base::ClockReading started, std::int64_t ageNs) {
  const auto clock = base::calibrate(started, base::readClock());
  const auto age = static_cast<std::uint64_t>(static_cast<double>(ageNs) / clock.nsPerTick);
  lane_.spanUntil(trace::EventKind::kStartup, started.ticks - age, started.ticks, 0,
                  trace::kNoBucket, 0, static_cast<std::uint16_t>(StartupStage::kSpawn));
}

void RankRun::sendEnvironment(std::int64_t plannedSteps) {
  trace::EnvironmentMessage message;
  message.values = {
      {"libtorch", TORCH_VERSION},
      {"threads", std::to_string(experiment_.processes.threadsPerRank)},
      {"cores", cores_.empty() ? "any" : fmt::format("{}", fmt::join(cores_, " "))},
      {"host", trace::hostName()},
      {"pid", std::to_string(getpid())},
      {"device", "cpu"},
      {"backend", group_->backendName()},
      {"planned_steps", std::to_string(plannedSteps)},
  };
  tracer_->send(trace::toJson(message));
}

std::chrono::milliseconds RankRun::timeout() const {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(experiment_.processes.timeoutSeconds * 1000));
}

trace::ScopedSpan RankRun::stage(StartupStage stage) {
  return {lane_, trace::EventKind::kStartup,       0, &tracer_->lastWords(), trace::kNoBucket,
          0,     static_cast<std::uint16_t>(stage)};
}

}  // namespace lockstep::rank

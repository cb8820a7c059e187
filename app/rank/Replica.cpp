#include "app/rank/Replica.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "engine/hooks/MakeHook.h"
#include "engine/hooks/ThenOptimizerHook.h"
#include "engine/trace/Messages.h"
#include "engine/train/FloatingType.h"
#include "engine/train/MakeOptimizer.h"
#include "engine/train/OptimizerState.h"
#include "engine/train/models/MakeModel.h"

namespace lockstep::rank {

using base::Error;
using base::ExitCode;
using base::Status;

namespace {

/// Nothing when all dtypes are "none".
std::optional<ddp::MixedPrecision> mixedPrecision(const experiment::DdpConfig& config) {
  ddp::MixedPrecision settings;
  settings.paramDtype = train::floatingType(config.paramDtype);
  settings.reduceDtype = train::floatingType(config.reduceDtype);
  settings.bufferDtype = train::floatingType(config.bufferDtype);
  const bool any = settings.paramDtype || settings.reduceDtype || settings.bufferDtype;
  return any ? std::optional(settings) : std::nullopt;
}

}  // namespace

Replica::Replica(const experiment::Experiment& experiment,
                 std::shared_ptr<process_group::ProcessGroup> group, trace::Tracer& tracer,
                 trace::Lane& lane, train::FaultInjector& faults)
    : experiment_(experiment),
      group_(std::move(group)),
      tracer_(tracer),
      lane_(lane),
      faults_(faults) {}

Status Replica::makeModel(const train::DataShape& shape) {
  shape_ = shape;
  at::manual_seed(static_cast<std::uint64_t>(experiment_.train.seed));
  auto made = train::makeModel(experiment_.model, shape);
  if (!made.ok()) {
    return made.error();
  }
  model_ = std::move(made).value();
  auto optimizer = train::makeOptimizer(experiment_.optimizer, model_->parameters());
  if (!optimizer.ok()) {
    return optimizer.error();
  }
  optimizer_ = std::move(optimizer).value();
  if (experiment_.optimizer.inBackward) {
    std::vector<at::Tensor> reduced;
    for (const ddp::NamedTensor& parameter : trainedParameters()) {
      reduced.push_back(parameter.tensor);
    }
    auto early = optim::ParameterOptimizer::make(experiment_.optimizer, std::move(reduced));
    if (!early.ok()) {
      return early.error();
    }
    inBackward_ = std::move(early).value();
  }
  if (experiment_.train.resumeFrom.empty()) {
    return {};
  }
  auto loaded = train::loadCheckpoint(experiment_.train.resumeFrom, *model_, *optimizer_);
  if (!loaded.ok()) {
    return loaded.error();
  }
  position_ = loaded.value();
  return inBackward_ == nullptr ? Status() : train::copyState(*optimizer_, *inBackward_);
}

Status Replica::distribute() {
  return experiment_.processes.strategy == "data_parallel" ? distributeOverDevices()
                                                           : distributeOverRanks();
}

Status Replica::distributeOverRanks() {
  auto made = hooks::makeHook(experiment_.hook.name, {group_, &tracer_});
  if (!made.ok()) {
    return made.error();
  }
  std::shared_ptr<hooks::CommHook> hook = std::move(made).value();
  if (inBackward_ != nullptr) {
    hook = std::make_shared<hooks::ThenOptimizerHook>(std::move(hook), inBackward_, &tracer_);
  }
  ddp::DdpOptions options;
  options.config = experiment_.ddp;
  options.hook = faults_.around(std::move(hook));
  options.tracer = &tracer_;
  options.findUnusedParameters = experiment_.ddp.findUnusedParameters;
  options.staticGraph = experiment_.ddp.staticGraph;
  options.initSync = experiment_.ddp.initSync;
  options.skipAllReduceUnusedParams = experiment_.ddp.skipAllReduceUnusedParams;
  options.bucketCapMbList = experiment_.ddp.bucketCapMbList;
  options.parametersAndBuffersToIgnore = experiment_.ddp.ignore;
  options.delayAllReduceNamedParams = experiment_.ddp.delayAllReduceNamedParams;
  options.paramToHookAllReduce = experiment_.ddp.paramToHookAllReduce;
  options.mixedPrecision = mixedPrecision(experiment_.ddp);
  if (experiment_.ddp.syncBatchNorm) {
    if (auto synchronised = synchroniseBatchNorm(); !synchronised.ok()) {
      return synchronised;
    }
  }
  ddp_ = std::make_unique<ddp::DistributedDataParallel>(model_, group_, options);
  log_ = std::make_unique<train::DdpLog>(*ddp_, tracer_);
  strategy_ = std::make_unique<train::DdpStrategy>(*model_, *ddp_);
  if (experiment_.optimizer.zero) {
    zero_ = std::make_unique<ddp::ZeroRedundancyOptimizer>(ddp_->parameters(), group_,
                                                           experiment_.optimizer, &tracer_);
  }
  return faults_.watch(ddp_->parameters());
}

Status Replica::distributeOverDevices() {
  data_parallel::DataParallelOptions options;
  options.devices = data_parallel::virtualDevices(experiment_.processes.devices);
  options.makeReplica = [this]() -> std::shared_ptr<torch::nn::Module> {
    return train::makeModel(experiment_.model, shape_).value();  // was made like this before
  };
  options.tracer = &tracer_;
  options.lane = &lane_;
  parallel_ = std::make_unique<data_parallel::DataParallel>(model_, std::move(options));
  strategy_ = std::make_unique<train::DataParallelStrategy>(*model_, *parallel_);
  tracer_.send(trace::toJson(train::describeParameters(*model_)));
  return faults_.watch(trainedParameters());
}

Status Replica::synchroniseBatchNorm() {
  batchNorm_ = ddp::convertSyncBatchNorm(*model_, group_, &tracer_);
  if (batchNorm_->layers().empty()) {
    return Error{
        ExitCode::kBadInput,
        fmt::format("model.kind \"{}\" has no batch normalisation", experiment_.model.kind),
        "ddp.sync_batch_norm"};
  }
  return {};
}

std::vector<ddp::NamedTensor> Replica::trainedParameters() const {
  auto parameters = ddp::ModelState::of(model_).parameters;
  std::erase_if(parameters,
                [](const ddp::NamedTensor& named) { return !named.tensor.requires_grad(); });
  return parameters;
}

train::TrainParts Replica::parts(train::Datasets datasets, store::Store& store,
                                 const std::atomic<bool>& stopRequested) {
  train::TrainParts parts{experiment_, *model_, *strategy_, *optimizer_, std::move(datasets),
                          *group_,     store,   tracer_,    lane_,       stopRequested};
  parts.faults = &faults_;
  parts.batchNorm = batchNorm_.get();
  parts.zero = zero_.get();
  parts.inBackward = inBackward_.get();
  parts.log = log_.get();
  return parts;
}

}  // namespace lockstep::rank

#include "app/rank/Replica.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "engine/base/Log.h"
#include "engine/base/Try.h"
#include "engine/hooks/MakeHook.h"
#include "engine/hooks/ThenOptimizerHook.h"
#include "engine/trace/DivergenceWatch.h"
#include "engine/trace/Messages.h"
#include "engine/train/ComputeDevice.h"
#include "engine/train/DdpOptionsOf.h"
#include "engine/train/MakeOptimizer.h"
#include "engine/train/OptimizerState.h"
#include "engine/train/models/MakeModel.h"

namespace lockstep::rank {

using base::Error;
using base::ExitCode;
using base::Status;

namespace {

hooks::OptimizerFacts factsOf(const experiment::OptimizerConfig& config) {
  return {config.kind,      config.learningRate, config.weightDecay,
          config.momentum,  config.dampening,    config.nesterov,
          config.beta1,     config.beta2,        config.epsilon};
}

}  // namespace

// Note [What is around what]
// The Reducer calls one hook for a bucket. What else is to happen to it is hooks around that one;
// the outermost is called first, and has its result last:
//
//   FaultInjector::around      holds buckets up that a fault names, before anything is done to them
//     ThenOptimizerHook        steps the bucket's parameters with what the hook inside returns
//       PluginHook, or a hook of the engine    communicates
//
// So a delay is part of what the hook takes, as a slow link would be, and the optimizer in the
// backward works with every hook without any of them knowing.
//
// Making DistributedDataParallel is a collective, and divides the rest:
//   - before it, batch normalisation is converted, as with PyTorch's convert_sync_batchnorm();
//   - before it, the groups of a plugin are made, since DDP is made with the hook, and that with
//     its groups;
//   - after it comes whatever is to know parameters by the Reducer's index: the plugin, the
//     fingerprints, ZeRO, and the faults that flip bits. ddp_->parameters() has them in that order.

Replica::Replica(const experiment::Experiment& experiment, const plugin::HookChoice& hooks,
                 Groups& groups, std::shared_ptr<process_group::ProcessGroup> group,
                 trace::Tracer& tracer, trace::Lane& lane, train::FaultInjector& faults,
                 std::function<void(const std::string&)> hookStuck)
    : experiment_(experiment),
      hooks_(hooks),
      groups_(groups),
      group_(std::move(group)),
      tracer_(tracer),
      lane_(lane),
      faults_(faults),
      hookStuck_(std::move(hookStuck)) {}

Status Replica::makeModel(const train::DataShape& shape, c10::Device device) {
  shape_ = shape;
  // The same on every rank, and drawn by the host whatever the device, since the model is moved
  // only then: a run begins with the same parameters on every rank and kind of device.
  at::manual_seed(static_cast<std::uint64_t>(experiment_.train.seed));
  model_ = LOCKSTEP_TRY(train::makeModel(experiment_.model, shape));
  model_->to(device);
  optimizer_ = LOCKSTEP_TRY(train::makeOptimizer(experiment_.optimizer, model_->parameters()));
  if (experiment_.optimizer.inBackward) {
    std::vector<at::Tensor> reduced;
    // Before DDP is made, hence from the model itself. The ThenOptimizerHook finds a bucket's
    // parameters by their index here, which is that of the Reducer.
    for (const ddp::NamedTensor& parameter : trainedParameters()) {
      reduced.push_back(parameter.tensor);
    }
    inBackward_ =
        LOCKSTEP_TRY(optim::ParameterOptimizer::make(experiment_.optimizer, std::move(reduced)));
  }
  if (experiment_.train.resumeFrom.empty()) {
    return {};
  }
  position_ =
      LOCKSTEP_TRY(train::loadCheckpoint(experiment_.train.resumeFrom, *model_, *optimizer_));
  return inBackward_ == nullptr ? Status() : train::copyState(*optimizer_, *inBackward_);
}

Status Replica::distribute() {
  return experiment_.processes.strategy == "data_parallel" ? distributeOverDevices()
                                                           : distributeOverRanks();
}

Status Replica::distributeOverRanks() {
  std::shared_ptr<hooks::CommHook> hook = LOCKSTEP_TRY(makeHook());
  sendWhatMayDiffer(*hook);
  if (inBackward_ != nullptr) {
    hook = std::make_shared<hooks::ThenOptimizerHook>(std::move(hook), inBackward_, &tracer_);
  }
  ddp::DdpOptions options = train::ddpOptionsOf(experiment_.ddp);
  options.hook = faults_.around(std::move(hook));
  options.tracer = &tracer_;
  options.gradientCheckEvery = experiment_.capture.gradientCheckEvery;
  options.deviceSpans = makeDeviceSpans();
  if (experiment_.ddp.syncBatchNorm) {
    LOCKSTEP_TRY(synchroniseBatchNorm());
  }
  deviceSpans_ = makeDeviceSpans();
  ddp_ = std::make_unique<ddp::DistributedDataParallel>(model_, group_, options);
  if (plugin_ != nullptr) {
    LOCKSTEP_TRY(preparePlugin());
  }
  log_ = std::make_unique<train::DdpLog>(
      *ddp_, tracer_,
      plugin_ == nullptr ? std::map<std::string, double>() : plugin_->liveBeginnings());
  // One rank has nobody to differ from, and a sample reads every parameter.
  if (group_->size() > 1) {
    fingerprint_ = std::make_unique<train::Fingerprint>(
        ddp_->parameters(), experiment_.capture.fingerprintEvery, tracer_, lane_);
  }
  strategy_ = std::make_unique<train::DdpStrategy>(*model_, *ddp_);
  if (experiment_.optimizer.zero) {
    zero_ = std::make_unique<ddp::ZeroRedundancyOptimizer>(ddp_->parameters(), group_,
                                                           experiment_.optimizer, &tracer_);
  }
  return faults_.watch(ddp_->parameters());
}

void Replica::sendWhatMayDiffer(const hooks::CommHook& hook) {
  trace::EnvironmentMessage message;
  if (plugin_ != nullptr) {
    // The recorder takes replicas that differ for a run that has diverged. What may differ by
    // design is known before the first step: a hook that lets them drift, and parameters that DDP
    // leaves alone.
    message.values.emplace(trace::kHook, hook.name());
  }
  if (plugin_ != nullptr ? plugin_->replicasDrift() : hooks::replicasDrift(hook.name())) {
    message.values.emplace(trace::kDriftingHook, hook.name());
  }
  if (!experiment_.ddp.ignore.empty()) {
    message.values.emplace(trace::kIgnoredParameters,
                           std::to_string(experiment_.ddp.ignore.size()));
  }
  if (!message.values.empty()) {
    tracer_.send(trace::toJson(message));
  }
}

std::unique_ptr<device::DeviceSpans> Replica::makeDeviceSpans() const {
  return tracer_.recording() ? device::makeDeviceSpans(train::deviceOf(model_->parameters()))
                             : nullptr;
}

base::Result<std::shared_ptr<hooks::CommHook>> Replica::makeHook() {
  if (hooks_.empty()) {
    return hooks::makeHook(experiment_.hook.name, {group_, &tracer_});
  }
  hooks::PluginHookOptions options;
  options.choice = hooks_;
  options.tracer = &tracer_;
  options.timeout = timeLimit(experiment_);
  options.stuck = hookStuck_;
  // Collective: all ranks have the same hooks, and so make the same groups in the same order.
  for (std::size_t depth = 0; depth < hooks_.size(); ++depth) {
    auto groups = LOCKSTEP_TRY(groups_.makeForHook(hooks_, depth));
    options.groups.push_back(std::move(groups));
  }
  plugin_ = std::make_shared<hooks::PluginHook>(std::move(options));
  return std::shared_ptr<hooks::CommHook>(plugin_);
}

Status Replica::preparePlugin() {
  std::vector<std::string> names;
  std::vector<at::Tensor> parameters;
  for (const ddp::NamedTensor& parameter : ddp_->parameters()) {
    names.push_back(parameter.name);
    parameters.push_back(parameter.tensor);
  }
  plugin_->setParameters(std::move(names), std::move(parameters));
  plugin_->configure(factsOf(experiment_.optimizer));
  // Such a hook is handed what is reduced, and nobody steps the rest. An optimizer beside it would
  // step the same parameters once more, ignored parameters and sparse ones would never be stepped.
  if (plugin_->ownsUpdate()) {
    const auto refuse = [this](const char* key) {
      return Error{ExitCode::kBadInput,
                   fmt::format("has no meaning with hook '{}', which steps the parameters itself",
                               plugin_->name()),
                   key};
    };
    if (experiment_.optimizer.zero || experiment_.optimizer.inBackward) {
      return refuse(experiment_.optimizer.zero ? "optimizer.zero" : "optimizer.in_backward");
    }
    if (!experiment_.ddp.ignore.empty()) {
      return refuse("ddp.ignore");
    }
    if (experiment_.model.kind == "ngram" && experiment_.model.sparse) {
      return refuse("model.sparse");
    }
  }
  if (experiment_.ddp.join && !experiment_.train.checkpoint.empty() && !plugin_->save().empty()) {
    return Error{ExitCode::kBadInput,
                 fmt::format("cannot be with ddp.join and hook '{}': it has a state on each rank, "
                             "and ranks without inputs take no part in a checkpoint",
                             plugin_->name()),
                 "train.checkpoint"};
  }
  return experiment_.train.resumeFrom.empty() ? Status() : loadPluginState();
}

Status Replica::loadPluginState() {
  const auto saved = LOCKSTEP_TRY(train::loadSavedHook(experiment_.train.resumeFrom));
  if (saved.hook != plugin_->name()) {
    base::logInfo("{} holds no state of hook '{}', which starts anew",
                  experiment_.train.resumeFrom, plugin_->name());
    return {};
  }
  const auto rank = static_cast<std::size_t>(group_->rank());
  if (rank >= saved.ranks.size()) {
    return Error{ExitCode::kBadInput,
                 fmt::format("holds the state of hook '{}' of {} ranks, and none of rank {}; use "
                             "as many ranks",
                             saved.hook, saved.ranks.size(), rank),
                 experiment_.train.resumeFrom};
  }
  // Each rank its own: what it kept of its own gradients (error feedback) is of no use to another.
  // The number of ranks that saved is handed on, since a hook may have to scale by it.
  plugin_->load(saved.ranks[rank], static_cast<int>(saved.ranks.size()));
  return {};
}

Status Replica::distributeOverDevices() {
  data_parallel::DataParallelOptions options;
  options.devices = data_parallel::virtualDevices(experiment_.processes.devices);
  // Replicas are made once, empty of what was learnt; each forward copies the parameters into them.
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
  parts.fingerprint = fingerprint_.get();
  parts.hook = plugin_.get();
  parts.deviceSpans = deviceSpans_.get();
  return parts;
}

}  // namespace lockstep::rank

#include "engine/ddp/DistributedDataParallel.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/Log.h"
#include "engine/ddp/CoalescedBroadcast.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/Handshake.h"
#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {

namespace {

/// Ranks of different versions may order their collectives differently. Raise it with that.
constexpr int kEngineVersion = 2;

template <typename T>
T orThrow(base::Result<T> result, const char* key) {
  if (!result.ok()) {
    throw DdpError(fmt::format("{}: {}", key, result.error().what));
  }
  return std::move(result).value();
}

std::vector<NamedTensor> trainedOf(const ModelState& model) {
  std::vector<NamedTensor> trained;
  for (const NamedTensor& parameter : model.parameters) {
    if (parameter.tensor.requires_grad()) {
      trained.push_back(parameter);
    }
  }
  if (trained.empty()) {
    throw DdpError(fmt::format(
        "none of the model's {} parameters requires a gradient: DistributedDataParallel is not "
        "needed; train it without, or unfreeze a parameter",
        model.parameters.size()));
  }
  const auto first = trained.front().tensor.device().type();
  for (const NamedTensor& parameter : trained) {
    if (parameter.tensor.device().type() != first) {
      throw DdpError(
          fmt::format("parameter '{}' is on {} and '{}' on {}: all must be on one type of device",
                      trained.front().name, trained.front().tensor.device().str(), parameter.name,
                      parameter.tensor.device().str()));
    }
  }
  return trained;
}

}  // namespace

DistributedDataParallel::DistributedDataParallel(ModelState model,
                                                 std::shared_ptr<process_group::ProcessGroup> group,
                                                 DdpOptions options)
    : model_(withoutNames(std::move(model), options.parametersAndBuffersToIgnore)),
      group_(std::move(group)),
      options_(std::move(options)),
      trained_(trainedOf(model_)) {
  const ReducerOptions forReducer = reducerOptions();
  if (options_.initSync) {
    verifySameOnAllRanks(*group_, description());
    broadcastState(0);
  }
  if (options_.staticGraph && options_.findUnusedParameters && group_->rank() == 0) {
    base::logWarning(
        "static_graph learns the unused parameters from the first iteration: "
        "find_unused_parameters does nothing beside it");
  }
  reducer_ = std::make_unique<Reducer>(trained_, group_, forReducer);
  firstBucketSizes_ = bucketSizes();
}

DistributedDataParallel::DistributedDataParallel(std::shared_ptr<torch::nn::Module> module,
                                                 std::shared_ptr<process_group::ProcessGroup> group,
                                                 DdpOptions options)
    : DistributedDataParallel(ModelState::of(module), std::move(group), std::move(options)) {
  module_ = std::move(module);
}

DistributedDataParallel::~DistributedDataParallel() = default;

ReducerOptions DistributedDataParallel::reducerOptions() const {
  const experiment::DdpConfig& config = options_.config;
  ReducerOptions options;
  options.rule = orThrow(buckets::bucketRule(config.bucketRule), "ddp.bucket_rule");
  options.caps.firstBytes = orThrow(buckets::capBytes(config.firstBucketMb), "ddp.first_bucket_mb");
  options.caps.capBytes = orThrow(buckets::capBytes(config.bucketCapMb), "ddp.bucket_cap_mb");
  for (const double mebibytes : options_.bucketCapMbList) {
    options.caps.list.push_back(orThrow(buckets::capBytes(mebibytes), "bucket_cap_mb_list"));
  }
  options.gradientAsBucketView = config.gradientAsBucketView;
  options.findUnusedParameters = options_.findUnusedParameters;
  options.staticGraph = options_.staticGraph;
  options.skipUnusedBuckets = options_.skipAllReduceUnusedParams;
  options.sparseGradients = model_.sparseGradients;
  options.hook = options_.hook;
  options.hookTimeout = options_.hookTimeout;
  options.tracer = options_.tracer;
  return options;
}

std::vector<std::string> DistributedDataParallel::description() const {
  const auto onOff = [](bool value) { return value ? "on" : "off"; };
  const auto& sparse = model_.sparseGradients;
  std::vector<std::string> items;
  items.push_back(fmt::format("engine {}", kEngineVersion));
  for (std::size_t i = 0; i < model_.parameters.size(); ++i) {
    const auto& [name, tensor] = model_.parameters[i];
    items.push_back(fmt::format(
        "parameter {}, {}, strides [{}], {}{}", quoted(name, i), describe(tensor),
        fmt::join(tensor.strides(), ", "), tensor.requires_grad() ? "trained" : "frozen",
        std::find(sparse.begin(), sparse.end(), name) != sparse.end() ? ", sparse gradient" : ""));
  }
  if (model_.buffers) {
    const auto buffers = model_.buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      items.push_back(
          fmt::format("buffer {}, {}", quoted(buffers[i].name, i), describe(buffers[i].tensor)));
    }
  }
  const experiment::DdpConfig& config = options_.config;
  items.push_back(fmt::format("bucket rule {}, first bucket {} MiB, cap {} MiB, caps [{}] MiB",
                              config.bucketRule, config.firstBucketMb, config.bucketCapMb,
                              fmt::join(options_.bucketCapMbList, ", ")));
  items.push_back(fmt::format("broadcast_buffers {}, sync_every {}", onOff(config.broadcastBuffers),
                              config.syncEvery));
  items.push_back(
      fmt::format("find_unused_parameters {}, static_graph {}, skip_all_reduce_unused_params {}",
                  onOff(options_.findUnusedParameters), onOff(options_.staticGraph),
                  onOff(options_.skipAllReduceUnusedParams)));
  items.push_back(fmt::format("communication hook '{}'",
                              options_.hook == nullptr ? "allreduce" : options_.hook->name()));
  return items;
}

void DistributedDataParallel::broadcastState(int root) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : model_.parameters) {
    tensors.push_back(parameter.tensor);
  }
  if (options_.config.broadcastBuffers && model_.buffers) {
    for (const NamedTensor& buffer : model_.buffers()) {
      tensors.push_back(buffer.tensor);
    }
  }
  broadcastCoalesced(*group_, tensors, root);
}

void DistributedDataParallel::broadcastBuffers(bool live) {
  if (!buffersMayDiffer_ || !options_.config.broadcastBuffers || !model_.buffers) {
    return;
  }
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& buffer : model_.buffers()) {
    tensors.push_back(buffer.tensor);
  }
  if (tensors.empty()) {
    return;
  }
  const std::uint64_t startTicks = base::ticks();
  process_group::CallOptions options;
  options.step = step_;
  const int root = joining() ? largestRank(*group_, live, joinDevice(), step_) : 0;
  broadcastCoalesced(*group_, tensors, root, kBroadcastBytes, options);
  reducer_->recordSpan(trace::EventKind::kBroadcastBuffers, startTicks);
}

void DistributedDataParallel::preForward() {
  if (at::GradMode::is_enabled()) {
    notifyJoin();
    reducer_->beginForward();
  }
  broadcastBuffers(true);
}

void DistributedDataParallel::finishForward(const std::vector<at::Tensor*>& outputs) {
  const bool withGradients = at::GradMode::is_enabled();
  buffersMayDiffer_ = withGradients && synchronise_;
  if (!withGradients) {
    return;
  }
  if (joining()) {
    (void)anySynchronises(synchronise_);
    reducer_->setDivisor(joinDivisor());
  }
  if (synchronise_) {
    reducer_->prepareForBackward(outputs);
  } else {
    reducer_->accumulateLocally();
  }
}

bool DistributedDataParallel::anySynchronises(bool own) {
  process_group::CallOptions options;
  options.step = step_;
  const at::Tensor ranks =
      at::full({1}, own ? 1 : 0, at::TensorOptions(at::kInt).device(joinDevice()));
  group_->allreduce({ranks}, process_group::ReduceOp::kSum, options)->wait();
  return ranks.item<int>() > 0;
}

void DistributedDataParallel::shadow(std::uint32_t step) {
  setStep(step);
  reducer_->shadowForward();
  broadcastBuffers(false);
  buffersMayDiffer_ = anySynchronises(false);
  reducer_->shadowBackward(buffersMayDiffer_);
}

void DistributedDataParallel::allJoined(bool lastJoiner) {
  broadcastState(largestRank(*group_, lastJoiner, joinDevice(), step_));
  reducer_->setDivisor(group_->size());
}

void DistributedDataParallel::setStep(std::uint32_t step) {
  step_ = step;
  reducer_->setStep(step);
}

}  // namespace lockstep::ddp

#include "engine/ddp/DistributedDataParallel.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/ddp/CoalescedBroadcast.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/Handshake.h"
#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {

namespace {

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
    : model_(std::move(model)),
      group_(std::move(group)),
      options_(std::move(options)),
      trained_(trainedOf(model_)) {
  const ReducerOptions forReducer = reducerOptions();
  verify();
  broadcastState();
  reducer_ = std::make_unique<Reducer>(trained_, group_, forReducer);
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
  options.gradientAsBucketView = config.gradientAsBucketView;
  options.hook = options_.hook;
  options.hookTimeout = options_.hookTimeout;
  options.tracer = options_.tracer;
  return options;
}

void DistributedDataParallel::verify() const {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < model_.parameters.size(); ++i) {
    const auto& [name, tensor] = model_.parameters[i];
    items.push_back(fmt::format("parameter {}, {}, strides [{}], {}", quoted(name, i),
                                describe(tensor), fmt::join(tensor.strides(), ", "),
                                tensor.requires_grad() ? "trained" : "frozen"));
  }
  if (model_.buffers) {
    const auto buffers = model_.buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      items.push_back(
          fmt::format("buffer {}, {}", quoted(buffers[i].name, i), describe(buffers[i].tensor)));
    }
  }
  const experiment::DdpConfig& config = options_.config;
  items.push_back(fmt::format("bucket rule {}, first bucket {} MiB, cap {} MiB", config.bucketRule,
                              config.firstBucketMb, config.bucketCapMb));
  items.push_back(fmt::format("broadcast_buffers {}, sync_every {}",
                              config.broadcastBuffers ? "on" : "off", config.syncEvery));
  items.push_back(fmt::format("communication hook '{}'",
                              options_.hook == nullptr ? "allreduce" : options_.hook->name()));
  verifySameOnAllRanks(*group_, items);
}

void DistributedDataParallel::broadcastState() {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : model_.parameters) {
    tensors.push_back(parameter.tensor);
  }
  if (options_.config.broadcastBuffers && model_.buffers) {
    for (const NamedTensor& buffer : model_.buffers()) {
      tensors.push_back(buffer.tensor);
    }
  }
  broadcastCoalesced(*group_, tensors, 0);
}

void DistributedDataParallel::broadcastBuffers() {
  if (!options_.config.broadcastBuffers || !model_.buffers) {
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
  broadcastCoalesced(*group_, tensors, 0, kBroadcastBytes, options);
  reducer_->recordSpan(trace::EventKind::kBroadcastBuffers, startTicks);
}

void DistributedDataParallel::preForward() {
  if (at::GradMode::is_enabled()) {
    reducer_->beginForward();
  }
  if (buffersMayDiffer_) {
    broadcastBuffers();
  }
}

void DistributedDataParallel::postForward() {
  const bool withGradients = at::GradMode::is_enabled();
  buffersMayDiffer_ = withGradients && synchronise_;
  if (!withGradients) {
    return;
  }
  if (synchronise_) {
    reducer_->prepareForBackward();
  } else {
    reducer_->accumulateLocally();
  }
}

void DistributedDataParallel::setStep(std::uint32_t step) {
  step_ = step;
  reducer_->setStep(step);
}

}  // namespace lockstep::ddp

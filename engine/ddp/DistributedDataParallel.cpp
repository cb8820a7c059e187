#include "engine/ddp/DistributedDataParallel.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "engine/base/Log.h"
#include "engine/ddp/CoalescedBroadcast.h"
#include "engine/ddp/DdpError.h"
#include "engine/ddp/Handshake.h"
#include "engine/trace/Event.h"

namespace lockstep::ddp {

namespace {

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
  // Several devices of one type are allowed, as by PyTorch: a model may be spread over them.
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
  // First what this rank can tell by itself: its own error comes before what others have to say.
  reducer_ = std::make_unique<Reducer>(trained_, group_, reducerOptions());
  if (options_.initSync) {
    verifySameOnAllRanks(*group_, description());
    broadcastState(0, options_.broadcastBuffers);
  }
  if (options_.staticGraph && options_.findUnusedParameters && group_->rank() == 0) {
    base::logWarning(
        "static_graph learns the unused parameters from the first iteration: "
        "find_unused_parameters does nothing beside it");
  }
  firstBucketSizes_ = bucketSizes();
}

DistributedDataParallel::DistributedDataParallel(std::shared_ptr<torch::nn::Module> module,
                                                 std::shared_ptr<process_group::ProcessGroup> group,
                                                 DdpOptions options)
    : DistributedDataParallel(ModelState::of(module), std::move(group), std::move(options)) {
  module_ = std::move(module);
}

DistributedDataParallel::~DistributedDataParallel() = default;

void DistributedDataParallel::broadcastState(int root, bool buffers) {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : model_.parameters) {
    tensors.push_back(parameter.tensor);
  }
  if (buffers && model_.buffers) {
    for (const NamedTensor& buffer : model_.buffers()) {
      tensors.push_back(buffer.tensor);
    }
  }
  process_group::CallOptions options;
  options.step = step_;
  broadcastCoalesced(*group_, tensors, root, kBroadcastBytes, options);
}

void DistributedDataParallel::broadcastBuffers(bool live) {
  if (!buffersMayDiffer_ || !syncsBuffers() || !model_.buffers) {
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
  // Rank 0's, as by PyTorch; in a Join it may be without inputs, its buffers long out of date.
  const int root = joining() ? largestRank(*group_, live, joinDevice(), step_) : 0;
  broadcastCoalesced(*group_, tensors, root, kBroadcastBytes, options);
  reducer_->recordSpan(trace::EventKind::kBroadcastBuffers, startTicks);
}

void DistributedDataParallel::preForward() {
  if (at::GradMode::is_enabled()) {
    refuseJoinWithDeferred();
    notifyJoin(step_);
    reducer_->beginForward();
  } else if (precision_ != nullptr) {
    // A validation computes in the same precision as the training, but concerns no other rank.
    precision_->lower();
  }
  if (concernsOthers()) {
    broadcastBuffers(true);
  }
}

void DistributedDataParallel::refuseJoinWithDeferred() {
  if (joining() && !options_.delayAllReduceNamedParams.empty()) {
    throw DdpError(
        "delay_all_reduce_named_params in a Join: a rank without inputs cannot tell when the "
        "others reduce those parameters; leave them to the buckets");
  }
}

void DistributedDataParallel::finishForward(const std::vector<at::Tensor*>& outputs) {
  const bool withGradients = at::GradMode::is_enabled();
  if (concernsOthers()) {
    buffersMayDiffer_ = withGradients && synchronise_;
  }
  if (!withGradients) {
    if (precision_ != nullptr) {
      precision_->restore();
    }
    return;
  }
  if (joining()) {
    // The answer is for ranks without inputs, which have no NoSync of their own to look at.
    (void)anySynchronises(synchronise_);
    reducer_->setDivisor(joinDivisor());
  }
  if (synchronise_) {
    reducer_->prepareForBackward(outputs);
  } else {
    reducer_->accumulateLocally();
  }
}

// A rank without inputs takes part in the iterations of the others, which are announced to it
// (notifyJoin). A validation is none: ranks may make it as often as each of them likes.
bool DistributedDataParallel::concernsOthers() const {
  return at::GradMode::is_enabled() || !joining();
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
  refuseJoinWithDeferred();
  reducer_->shadowForward();
  broadcastBuffers(false);
  buffersMayDiffer_ = anySynchronises(false);
  reducer_->shadowBackward(buffersMayDiffer_);
}

void DistributedDataParallel::allJoined(bool lastJoiner) {
  if (precision_ != nullptr) {
    precision_->restore();
  }
  // Ranks that had no inputs did not step their optimizers: the model is now the last joiner's.
  broadcastState(largestRank(*group_, lastJoiner, joinDevice(), step_), syncsBuffers());
  reducer_->setDivisor(group_->size());
}

void DistributedDataParallel::setStep(std::uint32_t step) {
  step_ = step;
  reducer_->setStep(step);
}

}  // namespace lockstep::ddp

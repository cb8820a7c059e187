#include "engine/ddp/Reducer.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/PlanAgreement.h"
#include "engine/ddp/TensorText.h"
#include "engine/ddp/TorchCompat.h"
#include "engine/hooks/AllreduceHook.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

// Construction, rebuild and the checks around a forward. ReducerBackward.cpp has the backward.

namespace {

std::vector<buckets::TensorSpec> specsOf(const std::vector<NamedTensor>& parameters) {
  std::vector<buckets::TensorSpec> specs;
  specs.reserve(parameters.size());
  for (const auto& [name, tensor] : parameters) {
    const auto numel = static_cast<std::uint64_t>(tensor.numel());
    specs.push_back(
        {numel * tensor.element_size(), dtypeName(tensor.scalar_type()), tensor.device().str()});
  }
  return specs;
}

}  // namespace

Reducer::Reducer(std::vector<NamedTensor> parameters,
                 std::shared_ptr<process_group::ProcessGroup> group, ReducerOptions options)
    : parameters_(std::move(parameters)),
      specs_(specsOf(parameters_)),
      group_(std::move(group)),
      options_(std::move(options)),
      inverse_(at::native::wrapped_scalar_tensor(1.0 / group_->size())),
      ownTracer_(options_.tracer == nullptr ? std::make_unique<trace::Tracer>() : nullptr),
      tracer_(options_.tracer == nullptr ? *ownTracer_ : *options_.tracer),
      hook_(options_.hook == nullptr ? std::make_shared<hooks::AllreduceHook>(group_, &tracer_)
                                     : options_.hook),
      lane_(tracer_.lane("ddp")),
      ready_(parameters_.size(), 0) {
  checkParameters();
  useBuckets(buckets::planConstruction(specs_, options_.rule, options_.caps));
  sendParameters();
  sendLayout(0, "construction");
  auto& hook = tracer_.lastWords().hook;
  hook[hook_->name().copy(hook.data(), hook.size() - 1)] = '\0';
  watchParameters();
}

Reducer::~Reducer() {
  for (Watched& watched : watched_) {
    compat::removeGradientHook(*watched.accumulator, watched.key);
  }
}

void Reducer::checkParameters() const {
  if (parameters_.empty()) {
    throw DdpError("no parameter of the model requires a gradient: there is nothing to reduce");
  }
  std::unordered_set<const c10::TensorImpl*> seen;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    const auto refuse = [&, &name = name](const char* why) {
      throw DdpError(fmt::format("parameter {} {}", quoted(name, i), why));
    };
    if (!tensor.requires_grad() || !tensor.is_leaf()) {
      refuse("is not a leaf that requires a gradient");
    }
    if (tensor.layout() != c10::kStrided) {
      refuse("is sparse; only dense parameters can be reduced");
    }
    if (!seen.insert(tensor.unsafeGetTensorImpl()).second) {
      refuse("stands in the list twice");
    }
    if (compat::hasGradientHook(*compat::gradientAccumulator(tensor))) {
      refuse("is reduced by another DistributedDataParallel already; destroy that one first");
    }
  }
}

void Reducer::watchParameters() {
  watched_.reserve(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto accumulator = compat::gradientAccumulator(parameters_[i].tensor);
    const auto key = compat::addGradientHook(*accumulator, [this, i] { onGradient(i); });
    watched_.push_back({std::move(accumulator), key});
  }
}

void Reducer::useBuckets(buckets::BucketPlan plan) {
  at::NoGradGuard noGrad;
  buckets_.clear();  // before the new memory is taken
  plan_ = std::move(plan);
  places_.resize(parameters_.size());
  for (const auto& planned : plan_.buckets) {
    auto& bucket = *buckets_.emplace_back(std::make_unique<Bucket>(planned, parameters_, *group_));
    for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
      const std::uint32_t index = bucket.parameters()[slot];
      places_[index] = {static_cast<std::uint32_t>(buckets_.size() - 1),
                        static_cast<std::uint32_t>(slot)};
      at::Tensor& grad = parameters_[index].tensor.mutable_grad();
      if (options_.gradientAsBucketView && grad.defined()) {
        bucket.slice(slot).copy_(grad);
        grad = bucket.slice(slot);
      }
    }
  }
}

void Reducer::beginForward() {
  checkFinalized();
  checkUnchanged();
  rebuildIfDue();
}

void Reducer::checkUnchanged() const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& parameter = parameters_[i].tensor;
    const at::Tensor& slice = buckets_[places_[i].bucket]->slice(places_[i].slot);
    if (parameter.scalar_type() != slice.scalar_type() || parameter.device() != slice.device()) {
      throw DdpError(fmt::format(
          "parameter {} was {} on {} when DistributedDataParallel was built and is now {} on {}, "
          "so that its gradient would no longer be reduced; convert or move the model first, "
          "then wrap it",
          quoted(parameters_[i].name, i), dtypeName(slice.scalar_type()), slice.device().str(),
          dtypeName(parameter.scalar_type()), parameter.device().str()));
    }
  }
}

void Reducer::checkFinalized() {
  std::lock_guard lock(mutex_);
  if (!failure_.empty()) {
    throw DdpError(fmt::format(
        "rank {}: an earlier backward failed, and the gradients of the ranks no longer agree: {}",
        group_->rank(), failure_));
  }
  if (!unfinished_) {
    return;
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (ready_[i] == 0) {
      missing.push_back(quoted(parameters_[i].name, i));
    }
  }
  throw DdpError(fmt::format(
      "rank {}: the backward of step {} gave no gradient to {} of {} parameters: {}; {} of {} "
      "buckets were not reduced, and the gradients on this rank are still its own. Every "
      "parameter must take part in the loss on every rank: freeze (requires_grad = false) or "
      "remove those that do not",
      group_->rank(), step_, missing.size(), parameters_.size(), listed(missing),
      buckets_.size() - nextBucket_, buckets_.size()));
}

void Reducer::rebuildIfDue() {
  std::uint32_t step = 0;
  buckets::BucketPlan own;
  {
    std::lock_guard lock(mutex_);
    if (rebuilt_ || readyOrder_.size() != parameters_.size()) {
      return;
    }
    step = step_;
    own = buckets::planRebuild(specs_, readyOrder_, options_.caps);
  }
  const std::uint64_t startTicks = base::ticks();
  buckets::BucketPlan agreed = agreeOnPlan(*group_, specs_, own, step);
  {
    std::lock_guard lock(mutex_);
    useBuckets(std::move(agreed));
    rebuilt_ = true;
    readyOrder_ = {};
    lane_.span(trace::EventKind::kRebuildBuckets, startTicks, step);
  }
  sendLayout(1, "rebuild");
}

void Reducer::prepareForBackward() {
  std::lock_guard lock(mutex_);
  for (auto& bucket : buckets_) {
    bucket->pending = bucket->size();
  }
  std::fill(ready_.begin(), ready_.end(), 0);
  nextBucket_ = 0;
  mode_ = Mode::kSynchronise;
}

void Reducer::accumulateLocally() {
  std::lock_guard lock(mutex_);
  mode_ = Mode::kAccumulate;
}

void Reducer::setStep(std::uint32_t step) {
  std::lock_guard lock(mutex_);
  step_ = step;
}

void Reducer::recordSpan(trace::EventKind kind, std::uint64_t startTicks) {
  std::lock_guard lock(mutex_);
  lane_.span(kind, startTicks, step_);
}

void Reducer::sendParameters() {
  trace::ParametersMessage message;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    message.parameters.push_back({parameters_[i].name, tensor.sizes().vec(), specs_[i].dtype,
                                  tensor.numel(), static_cast<std::int64_t>(specs_[i].bytes)});
  }
  tracer_.send(trace::toJson(message));
}

void Reducer::sendLayout(std::uint32_t layout, const std::string& reason) {
  trace::BucketsMessage message;
  message.layout = layout;
  message.step = step_;
  message.reason = reason;
  for (const auto& bucket : plan_.buckets) {
    trace::BucketsMessage::Bucket& out = message.buckets.emplace_back();
    out.parameters = bucket.parameters;
    out.bytes = bucket.bytes;
    out.limitBytes = bucket.limitBytes == buckets::kUnlimited ? 0 : bucket.limitBytes;
    out.dtype = bucket.dtype;
    std::uint64_t offset = 0;
    for (const std::uint32_t index : bucket.parameters) {
      out.offsets.push_back(offset);
      offset += specs_[index].bytes;
    }
  }
  tracer_.send(trace::toJson(message));
}

}  // namespace lockstep::ddp

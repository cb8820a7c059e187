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
#include "engine/trace/Event.h"
#include "engine/trace/Messages.h"

namespace lockstep::ddp {

// Construction and rebuild. ReducerForward.cpp has what surrounds a forward, ReducerBackward.cpp
// the gradients of a backward, ReducerLaunch.cpp the buckets that they fill, ReducerFinalize.cpp
// the end, ReducerDeferred.cpp the parameters without buckets.

namespace {

std::vector<buckets::TensorSpec> specsOf(const std::vector<NamedTensor>& parameters,
                                         const std::vector<std::string>& sparse) {
  std::vector<buckets::TensorSpec> specs;
  specs.reserve(parameters.size());
  for (const auto& [name, tensor] : parameters) {
    const auto numel = static_cast<std::uint64_t>(tensor.numel());
    specs.push_back({numel * tensor.element_size(), dtypeName(tensor.scalar_type()),
                     tensor.device().str(),
                     std::find(sparse.begin(), sparse.end(), name) != sparse.end()});
  }
  return specs;
}

buckets::BucketRule ruleOf(const ReducerOptions& options) {
  // As c10d: where unused parameters are searched there is no rebuild to put the caps right.
  return options.findUnusedParameters && !options.staticGraph ? buckets::BucketRule::kC10d19
                                                              : options.rule;
}

}  // namespace

Reducer::Reducer(std::vector<NamedTensor> parameters,
                 std::shared_ptr<process_group::ProcessGroup> group, ReducerOptions options)
    : parameters_(std::move(parameters)),
      options_(std::move(options)),
      specs_(specsOf(parameters_, options_.sparseGradients)),
      planned_(parameters_.size() - options_.deferred),
      group_(std::move(group)),
      ownTracer_(options_.tracer == nullptr ? std::make_unique<trace::Tracer>() : nullptr),
      tracer_(options_.tracer == nullptr ? *ownTracer_ : *options_.tracer),
      hook_(options_.hook == nullptr ? std::make_shared<hooks::AllreduceHook>(group_, &tracer_)
                                     : options_.hook),
      lane_(tracer_.lane("ddp")),
      divisor_(group_->size()),
      inverse_(at::native::wrapped_scalar_tensor(1.0 / group_->size())),
      awaited_(parameters_.size(), 1),
      firings_(parameters_.size(), 0),
      used_(at::zeros({static_cast<std::int64_t>(parameters_.size())}, at::kInt)) {
  checkParameters();
  places_.resize(parameters_.size());
  useBuckets(buckets::planConstruction(plannedSpecs(), ruleOf(options_), options_.caps));
  makeDeferred();
  sendParameters();
  sendLayout(0, "construction");
  auto& hook = tracer_.lastWords().hook;
  hook[hook_->name().copy(hook.data(), hook.size() - 1)] = '\0';
  for (const NamedTensor& parameter : parameters_) {
    built_.emplace_back(parameter.tensor.scalar_type(), parameter.tensor.device());
  }
  watchParameters();
}

Reducer::~Reducer() {
  warnAllUsed();
  restorePrecision();
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
  for (const Watched& watched : watched_) {
    compat::removeGradientHook(*watched.accumulator, watched.key);
  }
  watched_.clear();
  accumulators_.clear();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto accumulator = compat::gradientAccumulator(parameters_[i].tensor);
    const auto key = compat::addGradientHook(*accumulator,
                                             [this, i](bool gradient) { onGradient(i, gradient); });
    accumulators_[accumulator.get()] = static_cast<std::uint32_t>(i);
    watched_.push_back({std::move(accumulator), key});
  }
}

std::vector<buckets::TensorSpec> Reducer::plannedSpecs() const {
  return {specs_.begin(), specs_.begin() + static_cast<std::ptrdiff_t>(planned_)};
}

std::unique_ptr<Bucket> Reducer::makeBucket(const buckets::BucketPlan::Bucket& planned) {
  const std::uint32_t first = planned.parameters.front();
  const at::ScalarType own = parameters_[first].tensor.scalar_type();
  return std::make_unique<Bucket>(
      planned, parameters_, *group_,
      options_.precision == nullptr ? own : options_.precision->reduceType(own),
      specs_[first].sparse);
}

void Reducer::useBuckets(buckets::BucketPlan plan) {
  at::NoGradGuard noGrad;
  buckets_.clear();  // before the new memory is taken
  plan_ = std::move(plan);
  hookedBuckets_ = 0;
  for (const auto& planned : plan_.buckets) {
    auto& bucket = *buckets_.emplace_back(makeBucket(planned));
    hookedBuckets_ = bucket.sparse() ? hookedBuckets_ : buckets_.size();
    for (std::size_t slot = 0; slot < bucket.size(); ++slot) {
      const std::uint32_t index = bucket.parameters()[slot];
      places_[index] = {static_cast<std::uint32_t>(buckets_.size() - 1),
                        static_cast<std::uint32_t>(slot)};
      at::Tensor& grad = parameters_[index].tensor.mutable_grad();
      if (options_.gradientAsBucketView && grad.defined() && !bucket.sparse()) {
        bucket.slice(slot).copy_(grad);
        grad = bucket.slice(slot);
      }
    }
  }
}

bool Reducer::recordsOrder() const {
  return !rebuilt_ && !searchesUnused() && reductions_ == (options_.staticGraph ? 1 : 0);
}

void Reducer::rebuildIfDue() {
  std::uint32_t step = 0;
  buckets::BucketPlan own;
  {
    std::lock_guard lock(mutex_);
    if (rebuilt_ || planned_ == 0 || searchesUnused() ||
        reductions_ < (options_.staticGraph ? 2 : 1)) {
      return;
    }
    step = step_;
    // A rank that shadowed the deciding iteration saw no order: registration order, reversed.
    std::vector<char> known(planned_, 0);
    for (const std::uint32_t index : recordedOrder_) {
      known[index] = 1;
    }
    for (std::size_t i = planned_; i-- > 0;) {
      if (known[i] == 0) {
        recordedOrder_.push_back(static_cast<std::uint32_t>(i));
      }
    }
    // What takes no part counts as ready at the first gradient, but c10d puts it last.
    std::stable_partition(recordedOrder_.begin(), recordedOrder_.end(), [&](std::uint32_t index) {
      return std::find(unused_.begin(), unused_.end(), index) == unused_.end();
    });
    own = buckets::planRebuild(plannedSpecs(), recordedOrder_, options_.caps);
  }
  const std::uint64_t startTicks = base::ticks();
  buckets::BucketPlan agreed = agreeOnPlan(*group_, plannedSpecs(), own, step);
  {
    std::lock_guard lock(mutex_);
    useBuckets(std::move(agreed));
    rebuilt_ = true;
    recordedOrder_ = {};
    lane_.span(trace::EventKind::kRebuildBuckets, startTicks, step);
  }
  sendLayout(1, "rebuild");
}

void Reducer::setDivisor(int divisor) {
  LOCKSTEP_CHECK(divisor > 0, "gradients divided by {}", divisor);
  std::lock_guard lock(mutex_);
  divisor_ = divisor;
  inverse_ = at::native::wrapped_scalar_tensor(1.0 / divisor);
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
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const auto& planned = plan_.buckets[i];
    const Bucket& bucket = *buckets_[i];
    trace::BucketsMessage::Bucket& out = message.buckets.emplace_back();
    out.parameters = planned.parameters;
    out.bytes = bucket.bytes();
    out.limitBytes = planned.limitBytes == buckets::kUnlimited ? 0 : planned.limitBytes;
    out.dtype =
        options_.precision == nullptr ? planned.dtype : dtypeName(bucket.wire().scalar_type());
    std::uint64_t offset = 0;
    for (const std::uint32_t index : planned.parameters) {
      out.offsets.push_back(offset);
      offset += planned.bytes == 0 ? 0 : specs_[index].bytes * bucket.bytes() / planned.bytes;
    }
  }
  tracer_.send(trace::toJson(message));
}

}  // namespace lockstep::ddp

#include "engine/ddp/reducer/WatchedParameters.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {
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

}  // namespace

WatchedParameters::WatchedParameters(std::vector<NamedTensor> parameters,
                                     std::vector<NamedTensor> frozen,
                                     const std::vector<std::string>& sparse, int rank)
    : parameters_(std::move(parameters)),
      frozen_(std::move(frozen)),
      rank_(rank),
      specs_(specsOf(parameters_, sparse)) {
  check();
  for (const NamedTensor& parameter : parameters_) {
    // change() compares with these: specs_ has texts, and mixed precision lends other dtypes
    // meanwhile.
    built_.emplace_back(parameter.tensor.scalar_type(), parameter.tensor.device());
  }
}

void WatchedParameters::check() const {
  if (parameters_.empty()) {
    throw DdpError("no parameter of the model requires a gradient: there is nothing to reduce");
  }
  std::unordered_set<const c10::TensorImpl*> seen;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& tensor = parameters_[i].tensor;
    const auto refuse = [&](const char* why) {
      throw DdpError(fmt::format("parameter {} {}", named(i), why));
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
    // Two Reducers on one parameter would both divide and sum its gradient.
    if (compat::hasGradientHook(*compat::gradientAccumulator(tensor))) {
      refuse("is reduced by another DistributedDataParallel already; destroy that one first");
    }
  }
}

std::string WatchedParameters::named(std::size_t index) const {
  return quoted(parameters_[index].name, index);
}

trace::ParametersMessage WatchedParameters::message() const {
  trace::ParametersMessage message;
  for (std::size_t i = 0; i < size(); ++i) {
    message.parameters.push_back({parameters_[i].name, tensor(i).sizes().vec(), specs_[i].dtype,
                                  tensor(i).numel(), static_cast<std::int64_t>(specs_[i].bytes)});
  }
  return message;
}

void WatchedParameters::watch(const std::function<void(std::size_t, bool)>& onGradient) {
  // Two hooks on one accumulator would count each gradient twice.
  unwatch();
  for (std::size_t i = 0; i < size(); ++i) {
    auto accumulator = compat::gradientAccumulator(tensor(i));
    const auto key = compat::addGradientHook(
        *accumulator, [onGradient, i](bool gradient) { onGradient(i, gradient); });
    accumulators_[accumulator.get()] = static_cast<std::uint32_t>(i);
    watched_.push_back({std::move(accumulator), key});
  }
}

void WatchedParameters::unwatch() {
  for (Watched& watched : watched_) {
    compat::removeGradientHook(*watched.accumulator, watched.key);
  }
  watched_.clear();
  accumulators_.clear();
}

std::string WatchedParameters::thawed() const {
  for (const NamedTensor& parameter : frozen_) {
    if (parameter.tensor.requires_grad()) {
      return fmt::format(
          "rank {}: parameter '{}' was frozen when DistributedDataParallel was built and requires "
          "a gradient now, which would not be reduced; thaw it first, then wrap the model",
          rank_, parameter.name);
    }
  }
  return {};
}

std::string WatchedParameters::change() const {
  if (std::string text = thawed(); !text.empty()) {
    return text;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const at::Tensor& now = tensor(i);
    if (now.scalar_type() != built_[i].first || now.device() != built_[i].second) {
      return fmt::format(
          "rank {}: parameter {} was {} on {} when DistributedDataParallel was built and is now {} "
          "on {}, so that its gradient would no longer be reduced; convert or move the model "
          "first, then wrap it",
          rank_, named(i), specs_[i].dtype, specs_[i].device, dtypeName(now.scalar_type()),
          now.device().str());
    }
    if (!now.requires_grad()) {
      return fmt::format(
          "rank {}: parameter {} was frozen after DistributedDataParallel was built, which would "
          "wait for its gradient; freeze it first, then wrap the model",
          rank_, named(i));
    }
  }
  return {};
}

}  // namespace lockstep::ddp

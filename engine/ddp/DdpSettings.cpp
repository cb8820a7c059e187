#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "engine/ddp/DdpError.h"
#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/TensorText.h"

namespace lockstep::ddp {

// What becomes of the options of a DistributedDataParallel: the Reducer's options, and the text by
// which the ranks compare theirs.

namespace {

/// Ranks of different versions may order their collectives differently. Raise it with that.
constexpr int kEngineVersion = 3;

template <typename T>
T orThrow(base::Result<T> result, const char* key) {
  if (!result.ok()) {
    throw DdpError(fmt::format("{}: {}", key, result.error().what));
  }
  return std::move(result).value();
}

}  // namespace

ReducerOptions DistributedDataParallel::reducerOptions() {
  ReducerOptions options;
  options.rule = orThrow(buckets::bucketRule(options_.bucketRule), "ddp.bucket_rule");
  options.caps.firstBytes =
      orThrow(buckets::capBytes(options_.firstBucketMb), "ddp.first_bucket_mb");
  options.caps.capBytes = orThrow(buckets::capBytes(options_.bucketCapMb), "ddp.bucket_cap_mb");
  for (const double mebibytes : options_.bucketCapMbList) {
    options.caps.list.push_back(orThrow(buckets::capBytes(mebibytes), "bucket_cap_mb_list"));
  }
  options.gradientAsBucketView = options_.gradientAsBucketView;
  options.batchedGradCopy = options_.batchedGradCopy;
  options.findUnusedParameters = options_.findUnusedParameters;
  options.staticGraph = options_.staticGraph;
  options.skipUnusedBuckets = options_.skipAllReduceUnusedParams;
  options.sparseGradients = model_.sparseGradients;
  std::copy_if(model_.parameters.begin(), model_.parameters.end(),
               std::back_inserter(options.frozen),
               [](const NamedTensor& parameter) { return !parameter.tensor.requires_grad(); });
  options.hook = options_.hook;
  options.hookTimeout = options_.hookTimeout;
  options.tracer = options_.tracer;
  options.deviceSpans = options_.deviceSpans;
  options.gradientCheckEvery = options_.gradientCheckEvery;
  deferParameters(options);
  setUpPrecision(options);
  return options;
}

void DistributedDataParallel::deferParameters(ReducerOptions& options) {
  const auto& names = options_.delayAllReduceNamedParams;
  const std::string& trigger = options_.paramToHookAllReduce;
  if (names.empty() != trigger.empty()) {
    throw DdpError(
        "delay_all_reduce_named_params and param_to_hook_all_reduce need each other: set both or "
        "neither");
  }
  if (names.empty()) {
    return;
  }
  const auto find = [this](const std::string& name, const char* option) {
    const auto found = std::find_if(trained_.begin(), trained_.end(),
                                    [&](const NamedTensor& one) { return one.name == name; });
    if (found == trained_.end()) {
      throw DdpError(fmt::format(
          "'{}' of {} is no trained parameter of the model (or stands there twice); use the fully "
          "qualified name, as 'layers.0.weight'",
          name, option));
    }
    return found;
  };
  // Before anything is moved: a wrong name must leave no half-sorted list. Its index is asked for
  // again below, when every parameter has its final place.
  (void)find(trigger, "param_to_hook_all_reduce");
  if (options_.hook != nullptr && options_.hook->writesParameters()) {
    throw DdpError(fmt::format(
        "communication hook '{}' writes the parameters of the buckets, and would never write those "
        "of delay_all_reduce_named_params; let the optimizer step after the backward",
        options_.hook->name()));
  }
  std::vector<NamedTensor> deferred;
  for (const std::string& name : names) {
    const auto found = find(name, "delay_all_reduce_named_params");
    if (std::find(options.sparseGradients.begin(), options.sparseGradients.end(), name) !=
        options.sparseGradients.end()) {
      throw DdpError(fmt::format(
          "'{}' of delay_all_reduce_named_params has sparse gradients; leave it to the buckets",
          name));
    }
    deferred.push_back(*found);
    trained_.erase(found);
  }
  trained_.insert(trained_.end(), deferred.begin(), deferred.end());
  options.deferred = deferred.size();
  options.deferredTrigger =
      static_cast<std::size_t>(find(trigger, "param_to_hook_all_reduce") - trained_.begin());
}

void DistributedDataParallel::setUpPrecision(ReducerOptions& options) {
  if (!options_.mixedPrecision.has_value()) {
    return;
  }
  const MixedPrecision& settings = *options_.mixedPrecision;
  checkMixedPrecision(settings);
  if (!options.sparseGradients.empty()) {
    throw DdpError(fmt::format(
        "parameter '{}' has sparse gradients, which mixed_precision does not reduce; build its "
        "module without",
        options.sparseGradients.front()));
  }
  if (options_.hook != nullptr && options_.hook->writesParameters()) {
    throw DdpError(fmt::format(
        "communication hook '{}' writes parameters during the backward, where mixed_precision "
        "holds them in low precision; let the optimizer step after the backward",
        options_.hook->name()));
  }
  if (settings.bufferDtype.has_value() && model_.buffers) {
    for (const NamedTensor& buffer : model_.buffers()) {
      if (at::isFloatingType(buffer.tensor.scalar_type())) {
        buffer.tensor.set_data(buffer.tensor.to(*settings.bufferDtype));
      }
    }
  }
  // Frozen parameters, too: a layer cannot multiply weights of one dtype with inputs of another.
  precision_ = std::make_shared<PrecisionSwitch>(model_.parameters, settings);
  options.precision = precision_;
  options.gradientAsBucketView = false;  // gradients and buckets are of different dtypes
}

void DistributedDataParallel::castInput(at::Tensor& tensor) const {
  if (tensor.defined() && at::isFloatingType(tensor.scalar_type())) {
    tensor = tensor.to(*options_.mixedPrecision->paramDtype);
  }
}

std::vector<Fact> DistributedDataParallel::description() const {
  const auto onOff = [](bool value) { return value ? "on" : "off"; };
  const auto& sparse = model_.sparseGradients;
  // Only the first difference is reported. Another version of the engine may explain all the
  // others, so it comes first.
  std::vector<Fact> facts;
  facts.push_back({"engine", fmt::format("{}", kEngineVersion)});
  for (std::size_t i = 0; i < model_.parameters.size(); ++i) {
    const auto& [name, tensor] = model_.parameters[i];
    const bool isSparse = std::find(sparse.begin(), sparse.end(), name) != sparse.end();
    facts.push_back({"parameter",
                     fmt::format("{}, {}, strides [{}], {}{}", quoted(name, i), describe(tensor),
                                 fmt::join(tensor.strides(), ", "),
                                 tensor.requires_grad() ? "trained" : "frozen",
                                 isSparse ? ", sparse gradient" : ""),
                     i});
  }
  if (model_.buffers) {
    const auto buffers = model_.buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      facts.push_back(
          {"buffer", fmt::format("{}, {}", quoted(buffers[i].name, i), describe(buffers[i].tensor)),
           i});
    }
  }
  facts.push_back(
      {"bucket rule", fmt::format("{}, first bucket {} MiB, cap {} MiB, caps [{}] MiB",
                                  options_.bucketRule, options_.firstBucketMb, options_.bucketCapMb,
                                  fmt::join(options_.bucketCapMbList, ", "))});
  facts.push_back(
      {"broadcast_buffers",
       fmt::format("{}, forward_sync_buffers {}, sync_every {}", onOff(options_.broadcastBuffers),
                   onOff(options_.forwardSyncBuffers), options_.syncEvery)});
  facts.push_back({"find_unused_parameters",
                   fmt::format("{}, static_graph {}, skip_all_reduce_unused_params {}",
                               onOff(options_.findUnusedParameters), onOff(options_.staticGraph),
                               onOff(options_.skipAllReduceUnusedParams))});
  facts.push_back({"delay_all_reduce_named_params",
                   fmt::format("[{}], param_to_hook_all_reduce '{}'",
                               fmt::join(options_.delayAllReduceNamedParams, ", "),
                               options_.paramToHookAllReduce)});
  facts.push_back({"mixed_precision", options_.mixedPrecision.has_value()
                                          ? describe(*options_.mixedPrecision)
                                          : "off"});
  facts.push_back(
      {"communication hook",
       fmt::format("'{}'", options_.hook == nullptr ? "allreduce" : options_.hook->name())});
  return facts;
}

}  // namespace lockstep::ddp

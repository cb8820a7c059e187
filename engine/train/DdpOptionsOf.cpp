#include "engine/train/DdpOptionsOf.h"

#include <optional>

#include "engine/ddp/TensorText.h"

namespace lockstep::train {
namespace {

/// Nothing when all dtypes are "none".
std::optional<ddp::MixedPrecision> mixedPrecisionOf(const experiment::DdpConfig& config) {
  ddp::MixedPrecision settings;
  settings.paramDtype = ddp::floatingType(config.paramDtype);
  settings.reduceDtype = ddp::floatingType(config.reduceDtype);
  settings.bufferDtype = ddp::floatingType(config.bufferDtype);
  const bool any = settings.paramDtype || settings.reduceDtype || settings.bufferDtype;
  return any ? std::optional(settings) : std::nullopt;
}

}  // namespace

ddp::DdpOptions ddpOptionsOf(const experiment::DdpConfig& config) {
  ddp::DdpOptions options;
  options.firstBucketMb = config.firstBucketMb;
  options.bucketCapMb = config.bucketCapMb;
  options.bucketCapMbList = config.bucketCapMbList;
  options.bucketRule = config.bucketRule;
  options.gradientAsBucketView = config.gradientAsBucketView;
  options.batchedGradCopy = config.batchedGradCopy;
  options.broadcastBuffers = config.broadcastBuffers;
  options.forwardSyncBuffers = config.forwardSyncBuffers;
  options.syncEvery = config.syncEvery;
  options.findUnusedParameters = config.findUnusedParameters;
  options.staticGraph = config.staticGraph;
  options.skipAllReduceUnusedParams = config.skipAllReduceUnusedParams;
  options.initSync = config.initSync;
  options.parametersAndBuffersToIgnore = config.ignore;
  options.delayAllReduceNamedParams = config.delayAllReduceNamedParams;
  options.paramToHookAllReduce = config.paramToHookAllReduce;
  options.mixedPrecision = mixedPrecisionOf(config);
  return options;
}

}  // namespace lockstep::train

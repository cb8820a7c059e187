#include "engine/train/DdpOptionsOf.h"

#include <gmock/gmock.h>

namespace lockstep::train {
namespace {

using testing::ElementsAre;

TEST(DdpOptionsOf, TakesEveryKeyOfTheExperiment) {
  experiment::DdpConfig config;
  config.bucketCapMb = 3;
  config.firstBucketMb = 2;
  config.bucketCapMbList = {1, 4};
  config.bucketRule = "c10d-1.9";
  config.ignore = {"fc0.bias"};
  config.delayAllReduceNamedParams = {"fc1.bias"};
  config.paramToHookAllReduce = "fc1.weight";
  config.paramDtype = "bfloat16";
  config.reduceDtype = "float32";
  config.bufferDtype = "float64";
  config.gradientAsBucketView = config.batchedGradCopy = true;
  config.broadcastBuffers = config.forwardSyncBuffers = config.initSync = false;
  config.syncEvery = 5;
  config.findUnusedParameters = config.staticGraph = config.skipAllReduceUnusedParams = true;
  const ddp::DdpOptions options = ddpOptionsOf(config);
  EXPECT_EQ(options.bucketCapMb, 3);
  EXPECT_EQ(options.firstBucketMb, 2);
  EXPECT_THAT(options.bucketCapMbList, ElementsAre(1, 4));
  EXPECT_EQ(options.bucketRule, "c10d-1.9");
  EXPECT_THAT(options.parametersAndBuffersToIgnore, ElementsAre("fc0.bias"));
  EXPECT_THAT(options.delayAllReduceNamedParams, ElementsAre("fc1.bias"));
  EXPECT_EQ(options.paramToHookAllReduce, "fc1.weight");
  ASSERT_TRUE(options.mixedPrecision.has_value());
  EXPECT_EQ(options.mixedPrecision->paramDtype, at::kBFloat16);
  EXPECT_EQ(options.mixedPrecision->reduceDtype, at::kFloat);
  EXPECT_EQ(options.mixedPrecision->bufferDtype, at::kDouble);
  EXPECT_TRUE(options.gradientAsBucketView);
  EXPECT_TRUE(options.batchedGradCopy);
  EXPECT_FALSE(options.broadcastBuffers);
  EXPECT_FALSE(options.forwardSyncBuffers);
  EXPECT_FALSE(options.initSync);
  EXPECT_EQ(options.syncEvery, 5);
  EXPECT_TRUE(options.findUnusedParameters);
  EXPECT_TRUE(options.staticGraph);
  EXPECT_TRUE(options.skipAllReduceUnusedParams);
}

TEST(DdpOptionsOf, AgreesWithAnExperimentThatSaysNothing) {
  const ddp::DdpOptions options = ddpOptionsOf({});
  const ddp::DdpOptions defaults;
  EXPECT_EQ(options.bucketCapMb, defaults.bucketCapMb);
  EXPECT_EQ(options.firstBucketMb, defaults.firstBucketMb);
  EXPECT_EQ(options.bucketRule, defaults.bucketRule);
  EXPECT_EQ(options.gradientAsBucketView, defaults.gradientAsBucketView);
  EXPECT_EQ(options.batchedGradCopy, defaults.batchedGradCopy);
  EXPECT_EQ(options.broadcastBuffers, defaults.broadcastBuffers);
  EXPECT_EQ(options.forwardSyncBuffers, defaults.forwardSyncBuffers);
  EXPECT_EQ(options.initSync, defaults.initSync);
  EXPECT_EQ(options.syncEvery, defaults.syncEvery);
  EXPECT_EQ(options.findUnusedParameters, defaults.findUnusedParameters);
  EXPECT_EQ(options.staticGraph, defaults.staticGraph);
  EXPECT_EQ(options.skipAllReduceUnusedParams, defaults.skipAllReduceUnusedParams);
  EXPECT_FALSE(options.mixedPrecision.has_value());
}

}  // namespace
}  // namespace lockstep::train

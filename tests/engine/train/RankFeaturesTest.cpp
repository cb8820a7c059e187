// Keys of the experiment that change how lockstep-rank trains, each against the plain way.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <signal.h>

#include "engine/base/ExitCodes.h"
#include "engine/train/Safetensors.h"
#include "tests/engine/train/Files.h"
#include "tests/engine/train/RankProgram.h"

namespace lockstep::train {
namespace {

using base::ExitCode;
using testing::HasSubstr;

class RankFeatures : public RankProgram {
 protected:
  /// Trains with these settings and returns the parameters.
  std::map<std::string, at::Tensor> trained(int world, std::vector<std::string> settings) {
    const std::string path = folder_ / "trained.safetensors";
    settings.push_back("train.checkpoint=" + path);
    runRanks(world, settings);
    auto read = readSafetensors(path);
    EXPECT_TRUE(read.ok()) << read.error().message();
    return std::move(read).value().tensors;
  }

  /// The hash that all ranks print, or a sentence about those that differ.
  std::string hash(int world, const std::vector<std::string>& settings) {
    const auto errors = runRanks(world, settings);
    const std::string first = after(errors.front(), "parameter hash ");
    for (const auto& text : errors) {
      EXPECT_EQ(after(text, "parameter hash "), first);
    }
    return first;
  }

  void addFaults(const std::string& faults) {
    const std::string path = folder_ / "small.toml";
    writeFile(path, readFile(path) + faults);
  }
};

TEST_F(RankFeatures, DataParallelOnTwoDevicesTrainsAsTwoRanksDo) {
  const auto ranks = trained(2, {});
  const auto devices = trained(
      1, {"processes.strategy=data_parallel", "processes.world_size=1", "processes.devices=2"});
  ASSERT_EQ(ranks.size(), devices.size());
  for (const auto& [name, tensor] : ranks) {
    EXPECT_TRUE(at::allclose(devices.at(name), tensor, 1e-5, 1e-6)) << name;
  }
}

TEST_F(RankFeatures, DataParallelIsOneProcess) {
  auto one =
      start(1, 2, freePort(),
            {"--set", "processes.strategy=data_parallel", "--set", "processes.world_size=1"});
  EXPECT_EQ(exitCode(one), static_cast<int>(ExitCode::kBadInput));
  EXPECT_EQ(one.errors(),
            "rank 1: environment WORLD_SIZE: is 2; processes.strategy \"data_parallel\" is one "
            "process\n");
}

TEST_F(RankFeatures, SteppingInTheBackwardTrainsToTheSameBits) {
  for (const std::string optimizer : {"sgd", "adam"}) {
    const std::string kind = "optimizer.kind=" + optimizer;
    EXPECT_EQ(hash(2, {kind, "optimizer.in_backward=true", "ddp.bucket_cap_mb=0.001"}),
              hash(2, {kind, "ddp.bucket_cap_mb=0.001"}))
        << optimizer;
  }
}

TEST_F(RankFeatures, SteppingInTheBackwardResumesToTheSameBits) {
  const std::string half = folder_ / "half.safetensors";
  const std::vector<std::string> common{"optimizer.kind=adam", "optimizer.in_backward=true"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  const auto whole = hash(2, with({"train.steps=10"}));
  hash(2, with({"train.steps=5", "train.checkpoint=" + half}));
  EXPECT_EQ(hash(2, with({"train.steps=10", "train.resume_from=" + half})), whole);
}

TEST_F(RankFeatures, AnIgnoredParameterIsTrainedByEachRankAlone) {
  // With one rank there is no difference; gradients that were never dropped would make one.
  EXPECT_EQ(hash(1, {"ddp.ignore=[\"layers.0.bias\"]"}), hash(1, {}));
  const auto errors = runRanks(2, {"ddp.ignore=[\"layers.0.bias\"]"});
  EXPECT_NE(after(errors[0], "parameter hash "), after(errors[1], "parameter hash "));
}

TEST_F(RankFeatures, ANameToIgnoreThatTheModelHasNotIsRefused) {
  auto zero = start(0, 1, freePort(),
                    {"--set", "processes.world_size=1", "--set", "ddp.ignore=[\"layer.0\"]"});
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kBadInput)) << zero.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("'layer.0' is to be ignored"));
}

TEST_F(RankFeatures, AListOfCapsTrainsAsOneCap) {
  EXPECT_EQ(hash(2, {"ddp.bucket_cap_mb_list=[0.0001, 0.001]"}), hash(2, {}));
}

TEST_F(RankFeatures, LayersOfDifferentTypesAreReducedInOneStep) {
  const auto parameters = trained(
      2, {"model.layers=[20, 16, 16, 4]", "model.dtypes=[\"float32\", \"bfloat16\", \"float64\"]"});
  EXPECT_EQ(parameters.at("model.layers.0.weight").scalar_type(), at::kFloat);
  EXPECT_EQ(parameters.at("model.layers.1.weight").scalar_type(), at::kBFloat16);
  EXPECT_EQ(parameters.at("model.layers.2.weight").scalar_type(), at::kDouble);
  hash(2,
       {"model.layers=[20, 16, 16, 4]", "model.dtypes=[\"float32\", \"bfloat16\", \"float64\"]"});
}

TEST_F(RankFeatures, MixedPrecisionTrainsNearlyAsFullPrecisionAndLeavesFullParameters) {
  const auto full = trained(2, {});
  const auto mixed = trained(2, {"ddp.param_dtype=bfloat16", "ddp.reduce_dtype=float32"});
  for (const auto& [name, tensor] : full) {
    EXPECT_EQ(mixed.at(name).scalar_type(), at::kFloat) << name;
    EXPECT_TRUE(at::allclose(mixed.at(name), tensor, 0.1, 0.05)) << name;
    EXPECT_FALSE(mixed.at(name).equal(tensor)) << name;
  }
  hash(2, {"ddp.param_dtype=bfloat16"});
}

TEST_F(RankFeatures, DelayedParametersTrainToTheSameBits) {
  EXPECT_EQ(hash(2, {"ddp.delay_all_reduce_named_params=[\"layers.1.weight\", \"layers.1.bias\"]",
                     "ddp.param_to_hook_all_reduce=layers.0.bias"}),
            hash(2, {}));
}

TEST_F(RankFeatures, AccumulationInAJoinNeedsNoRankToEndAtAMultiple) {
  addFaults("[[faults]]\nkind = \"uneven\"\nrank = 1\nsamples = 40\n");  // 5 of 30 steps
  for (const std::string view : {"false", "true"}) {
    hash(2, {"ddp.join=true", "ddp.sync_every=4", "ddp.gradient_as_bucket_view=" + view});
  }
}

TEST_F(RankFeatures, AJoinStopsOnAllRanksWhenTheOneWithoutInputsIsAsked) {
  addFaults("[[faults]]\nkind = \"uneven\"\nrank = 1\nsamples = 799999960\n");
  const auto port = freePort();
  const std::vector<std::string> endless{"--set", "train.steps=100000000", "--set",
                                         "ddp.join=true"};
  auto one = start(1, 2, port, endless);
  auto zero = start(0, 2, port, endless);
  ASSERT_TRUE(awaitText(one, "has no more inputs"));
  one.kill(SIGTERM);
  EXPECT_EQ(exitCode(one), static_cast<int>(ExitCode::kInterrupted)) << one.errors();
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kInterrupted)) << zero.errors();
  EXPECT_EQ(after(zero.errors(), "parameter hash "), after(one.errors(), "parameter hash "));
}

TEST_F(RankFeatures, AJoinStopsOnAllRanksWhenTheOneThatGoesOnIsAsked) {
  addFaults("[[faults]]\nkind = \"uneven\"\nrank = 1\nsamples = 799999960\n");
  const auto port = freePort();
  const std::vector<std::string> endless{"--set", "train.steps=100000000", "--set",
                                         "ddp.join=true"};
  auto one = start(1, 2, port, endless);
  auto zero = start(0, 2, port, endless);
  ASSERT_TRUE(awaitText(one, "has no more inputs"));
  zero.kill(SIGTERM);
  EXPECT_EQ(exitCode(one), static_cast<int>(ExitCode::kInterrupted)) << one.errors();
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kInterrupted)) << zero.errors();
}

}  // namespace
}  // namespace lockstep::train

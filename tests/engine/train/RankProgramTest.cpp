// The program lockstep-rank as torchrun, mpirun or a supervisor would start it.
#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "engine/base/ExitCodes.h"
#include "engine/train/Safetensors.h"
#include "tests/engine/train/Files.h"
#include "tests/engine/train/RankProgram.h"

namespace lockstep::train {
namespace {

using base::ExitCode;
using support::ChildProcess;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(RankProgram, TrainsTwoRanksUnderTorchrunsVariablesAndEndsWithEqualReplicas) {
  const auto port = freePort();
  const std::string checkpoint = folder_ / "out.safetensors";
  auto one = start(1, 2, port, {"--set", "train.checkpoint=" + checkpoint});
  auto zero = start(0, 2, port, {"--set", "train.checkpoint=" + checkpoint});
  EXPECT_EQ(exitCode(zero), 0) << zero.errors();
  EXPECT_EQ(exitCode(one), 0) << one.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("[rank 0] [info] done: 30 steps"));
  EXPECT_THAT(zero.errors(), HasSubstr("test accuracy"));
  EXPECT_EQ(after(zero.errors(), "parameter hash ").size(), 16u);
  EXPECT_EQ(after(zero.errors(), "parameter hash "), after(one.errors(), "parameter hash "));
  const auto saved = readSafetensors(checkpoint);
  ASSERT_TRUE(saved.ok()) << saved.error().message();
  EXPECT_EQ(saved.value().metadata.at("step"), "30");
}

TEST_F(RankProgram, StopsBothRanksAfterTheSameStepWhenOneIsAskedTo) {
  const auto port = freePort();
  const std::vector<std::string> endless{"--set", "train.steps=100000000"};
  auto one = start(1, 2, port, endless);
  auto zero = start(0, 2, port, endless);
  ASSERT_TRUE(awaitText(zero, "training"));
  ASSERT_TRUE(awaitText(one, "training"));  // from here on it listens
  one.kill(SIGTERM);
  EXPECT_EQ(exitCode(one), static_cast<int>(ExitCode::kInterrupted)) << one.errors();
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kInterrupted)) << zero.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("stopped: "));
  EXPECT_EQ(after(zero.errors(), "stopped: "), after(one.errors(), "stopped: "));
  EXPECT_EQ(after(zero.errors(), "parameter hash "), after(one.errors(), "parameter hash "));
}

TEST_F(RankProgram, EndsWithOneLineAndTheCodeOfACommErrorWhenAPeerIsKilled) {
  const auto port = freePort();
  const std::vector<std::string> endless{"--set", "train.steps=100000000"};
  auto one = start(1, 2, port, endless);
  auto zero = start(0, 2, port, endless);
  ASSERT_TRUE(awaitText(zero, "training"));
  const auto before = lines(zero.errors());
  one.kill(SIGKILL);
  EXPECT_EQ(exitCode(zero), static_cast<int>(ExitCode::kCommFailed));
  EXPECT_EQ(lines(zero.errors()), before + 1) << zero.errors();
  EXPECT_THAT(zero.errors(), HasSubstr("\nrank 0: "));
}

TEST_F(RankProgram, TellsBadDataInOneLineThatNamesTheFile) {
  writeStripedDigits(folder_.path(), 50, 10);
  const std::string pictures = readFile(folder_ / "train-images-idx3-ubyte.gz");
  writeFile(folder_ / "train-images-idx3-ubyte.gz", pictures.substr(0, pictures.size() / 2));
  auto rank = start(0, 1, freePort(),
                    {"--set", "data.kind=mnist", "--set", "data.folder=" + folder_.path().string(),
                     "--set", "model.layers=[784,10]", "--set", "processes.world_size=1"});
  EXPECT_EQ(exitCode(rank), static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(rank.errors(), StartsWith("rank 0: " + (folder_ / "train-images").string()));
  EXPECT_THAT(rank.errors(), HasSubstr("39200 bytes expected"));
  EXPECT_EQ(lines(rank.errors()), 1) << rank.errors();
}

TEST_F(RankProgram, TellsEveryMistakeInTheExperimentFile) {
  writeFile(folder_ / "small.toml", "[model]\nkind = \"mpl\"\n[train]\nsteps = -3\n");
  auto rank = start(0, 1, freePort());
  EXPECT_EQ(exitCode(rank), static_cast<int>(ExitCode::kBadInput));
  EXPECT_THAT(rank.errors(), HasSubstr("small.toml:2:"));
  EXPECT_THAT(rank.errors(), HasSubstr("small.toml:4:"));
}

TEST_F(RankProgram, DescribesAModelWithoutOtherRanks) {
  ChildProcess describing({rankProgram(), {"--describe-model", folder_ / "small.toml"}, {}});
  EXPECT_EQ(exitCode(describing), 0) << describing.errors();
  const auto json = nlohmann::json::parse(describing.output());
  EXPECT_EQ(json["parameters"][0]["name"], "layers.0.weight");
  EXPECT_EQ(json["parameters"][0]["shape"], nlohmann::json({16, 20}));
  EXPECT_EQ(json["bytes"], 4 * (20 * 16 + 16 + 16 * 4 + 4));
}

TEST_F(RankProgram, ResumesAcrossProcessesToTheSameReplicas) {
  const std::string half = folder_ / "half.safetensors";
  const auto run = [&](const std::vector<std::string>& settings) {
    return after(runRanks(2, settings).front(), "parameter hash ");
  };
  const auto whole = run({"train.steps=10"});
  const auto first = run({"train.steps=5", "train.checkpoint=" + half});
  const auto rest = run({"train.steps=10", "train.resume_from=" + half});
  EXPECT_EQ(rest, whole);
  EXPECT_NE(first, whole);
}

}  // namespace
}  // namespace lockstep::train

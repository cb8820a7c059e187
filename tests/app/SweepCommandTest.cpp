// `lockstep run` and `lockstep validate` with an experiment that has a sweep.
#include <gmock/gmock.h>

#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/experiment/Parse.h"
#include "engine/trace/RunFile.h"
#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class SweepCommandTest : public CommandLineTest {
 protected:
  std::string sweep() const {
    return experiment("[sweep]\n\"ddp.bucket_cap_mb\" = [1, 0.5]\n\"train.seed\" = [3]\n");
  }
  std::vector<std::string> runFiles() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "runs")) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(SweepCommandTest, RunsAllOneAfterTheOtherIntoFilesNamedByTheirValues) {
  useFakeRanks("steps=12");
  const auto ended = lockstep({"run", sweep()});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(StartsWith("run 1 of 2: bucket_cap_mb=1, seed=3\n"),
                               HasSubstr("run 2 of 2: bucket_cap_mb=0.5, seed=3\n"),
                               HasSubstr("finished: 12 steps"), HasSubstr("\n2 runs\n")));
  EXPECT_THAT(runFiles(), ElementsAre(StartsWith("small-bucket_cap_mb=0.5,seed=3-2"),
                                      StartsWith("small-bucket_cap_mb=1,seed=3-2")));
}

TEST_F(SweepCommandTest, ARunFileSaysWhichSweepItBelongsToAndWhatIsVaried) {
  useFakeRanks("");
  ASSERT_EQ(lockstep({"run", sweep(), "--quiet", "--out", "caps.lockstep"}).exitCode, 0);
  std::vector<experiment::SweepConfig> sweeps;
  for (const char* cap : {"1", "0.5"}) {
    const auto path = folder / (std::string("caps-bucket_cap_mb=") + cap + ",seed=3.lockstep");
    const auto summary = trace::readRunSummary(path);
    ASSERT_TRUE(summary.ok()) << summary.error().message();
    const std::string varied = std::string("bucket_cap_mb=") + cap + ", seed=3";
    EXPECT_EQ(summary.value().info.name, "small " + varied);
    const auto parsed = experiment::parseText(summary.value().info.experimentToml, "run", folder);
    ASSERT_THAT(parsed.mistakes, IsEmpty());
    EXPECT_EQ(parsed.experiment.sweep.run, varied);
    EXPECT_EQ(parsed.experiment.train.seed, 3);
    sweeps.push_back(parsed.experiment.sweep);
  }
  EXPECT_THAT(sweeps[0].group, StartsWith("small 2"));
  EXPECT_EQ(sweeps[0].group, sweeps[1].group);
}

TEST_F(SweepCommandTest, JsonIsAListOfTheRuns) {
  useFakeRanks("");
  const auto ended = lockstep({"run", sweep(), "--json"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  ASSERT_THAT(json, SizeIs(2));
  EXPECT_EQ(json[1]["name"], "small bucket_cap_mb=0.5, seed=3");
}

TEST_F(SweepCommandTest, ARunThatCannotStartDoesNotEndTheSweep) {
  useFakeRanks("");
  write("caps-bucket_cap_mb=1,seed=3.lockstep", "taken");
  const auto ended = lockstep({"run", sweep(), "--out", "caps.lockstep"});
  EXPECT_NE(ended.exitCode, 0);
  EXPECT_THAT(ended.err, HasSubstr("exists already and is not overwritten"));
  EXPECT_THAT(ended.out, HasSubstr("2 runs, 1 of which did not end well"));
  EXPECT_TRUE(exists("caps-bucket_cap_mb=0.5,seed=3.lockstep"));
}

TEST_F(SweepCommandTest, CtrlCWhileAFailedRunIsEndedEndsTheSweep) {
  useFakeRanks("steps=20; 0: exit=4@5; 1: deaf@3");
  RunningCommand running(folder, {"run", sweep(), "--out", "caps.lockstep"}, environment);
  const auto failedRank = [&] {
    const auto info = lockstep({"info", "caps-bucket_cap_mb=1,seed=3.lockstep", "--json"});
    return info.exitCode == 0 && nlohmann::json::parse(info.out)["ranks"][0]["state"] == "failed";
  };
  while (!running.hasEnded() && !failedRank()) {
  }
  running.send(SIGINT);
  const auto ended = running.wait();
  EXPECT_EQ(ended.exitCode, 4) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("1 run, which did not end well; 1 not started"));
  EXPECT_FALSE(exists("caps-bucket_cap_mb=0.5,seed=3.lockstep"));
}

TEST_F(SweepCommandTest, AnOverrideMakesOneOfItsRuns) {
  useFakeRanks("");
  const auto ended = lockstep({"run", sweep(), "--set", "ddp.bucket_cap_mb=2", "--set",
                               "train.seed=4", "--out", "one.lockstep"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_TRUE(exists("one.lockstep"));
}

TEST_F(SweepCommandTest, ValidateListsTheRuns) {
  const auto ended = lockstep({"validate", sweep()});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "small.toml: ok, 2 runs\n  bucket_cap_mb=1, seed=3\n  bucket_cap_mb=0.5, seed=3\n");
}

TEST_F(SweepCommandTest, MistakesAreToldAtTheirPlaceAndNothingIsRun) {
  const auto file = experiment("[sweep]\n\"ddp.bucket_cap_mb\" = [1, 0]\n");
  const std::string wrong =
      "lockstep: small.toml:15:27: ddp.bucket_cap_mb: must be a number above 0 and up to 1048576, "
      "not 0\n";
  EXPECT_EQ(lockstep({"validate", file}).err, wrong);
  const auto ended = lockstep({"run", file});
  EXPECT_EQ(ended.err, wrong);
  EXPECT_NE(ended.exitCode, 0);
  EXPECT_FALSE(exists("runs"));
}

}  // namespace
}  // namespace lockstep::cli

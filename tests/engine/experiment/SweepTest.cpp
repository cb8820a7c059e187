#include "engine/experiment/Sweep.h"

#include <gmock/gmock.h>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

SweptExperiment expand(const std::string& toml, const Overrides& overrides = {}) {
  return expandText(toml, "e.toml", "/", overrides);
}

std::vector<std::string> labels(const SweptExperiment& swept) {
  std::vector<std::string> all;
  for (const SweptRun& run : swept.runs) {
    all.push_back(run.label);
  }
  return all;
}

std::vector<std::string> messages(const SweptExperiment& swept) {
  std::vector<std::string> all;
  for (const Mistake& mistake : swept.mistakes) {
    all.push_back(mistake.message());
  }
  return all;
}

TEST(Sweep, AFileWithoutOneIsOneRunWithoutALabel) {
  const auto swept = expand("[train]\nsteps = 3\n");
  EXPECT_FALSE(swept.isSweep());
  ASSERT_THAT(swept.runs, SizeIs(1));
  EXPECT_EQ(swept.runs[0].parsed.experiment.train.steps, 3);
  EXPECT_THAT(swept.mistakes, SizeIs(0));
}

TEST(Sweep, MakesARunOfEachCombinationAndTheLastKeyChangesFastest) {
  const auto swept = expand(
      "[train]\nsteps = 3\n[sweep]\n\"ddp.bucket_cap_mb\" = [1, 5]\n"
      "\"model.kind\" = [\"mlp\", \"cnn\"]\n");
  EXPECT_THAT(messages(swept), ElementsAre());
  EXPECT_THAT(labels(swept),
              ElementsAre("bucket_cap_mb=1, model=mlp", "bucket_cap_mb=1, model=cnn",
                          "bucket_cap_mb=5, model=mlp", "bucket_cap_mb=5, model=cnn"));
  EXPECT_EQ(swept.runs[3].parsed.experiment.ddp.bucketCapMb, 5);
  EXPECT_EQ(swept.runs[3].parsed.experiment.model.kind, "cnn");
  EXPECT_EQ(swept.runs[0].parsed.experiment.model.kind, "mlp");
}

TEST(Sweep, TablesInItAndQuotedKeysAreTheSame) {
  const auto swept =
      expand("[train]\nsteps = 3\n[sweep.ddp]\nbucket_cap_mb = [1, 5]\njoin = [true, false]\n");
  EXPECT_THAT(messages(swept), ElementsAre());
  EXPECT_THAT(labels(swept),
              ElementsAre("bucket_cap_mb=1, join=true", "bucket_cap_mb=1, join=false",
                          "bucket_cap_mb=5, join=true", "bucket_cap_mb=5, join=false"));
}

TEST(Sweep, KeysOfOneNameAreToldApart) {
  const auto swept =
      expand("[train]\nsteps = 3\n[sweep]\n\"train.seed\" = [1]\n\"link.seed\" = [2]\n");
  EXPECT_THAT(labels(swept), ElementsAre("train.seed=1, link.seed=2"));
}

TEST(Sweep, VariesListsAndWhatTheFileSaysInAnotherWay) {
  const auto swept = expand(
      "[train]\nepochs = 3\n[sweep]\n\"train.steps\" = [10]\n"
      "\"model.layers\" = [[784, 10], [784, 64, 10]]\n");
  EXPECT_THAT(messages(swept), ElementsAre());
  EXPECT_FALSE(swept.runs[1].parsed.experiment.train.epochs);
  EXPECT_THAT(swept.runs[1].parsed.experiment.model.layers, ElementsAre(784, 64, 10));
}

TEST(Sweep, AWrongValueIsToldAtItsPlaceOnce) {
  const auto swept = expand(
      "[train]\nsteps = 3\n[sweep]\n\"train.seed\" = [1, 2]\n"
      "\"ddp.bucket_cap_mb\" = [1, -5]\n");
  EXPECT_THAT(messages(swept),
              ElementsAre("e.toml:5:27: ddp.bucket_cap_mb: must be a number above 0 and up to "
                          "1048576, not -5"));
}

TEST(Sweep, AnUnknownKeyIsToldAtItsNameWithTheOneThatWasMeant) {
  const auto swept = expand("[train]\nsteps = 3\n[sweep]\n\"ddp.bucket_cap\" = [1, 5]\n");
  EXPECT_THAT(messages(swept), ElementsAre("e.toml:4:1: ddp.bucket_cap: unknown key; did you mean "
                                           "ddp.bucket_cap_mb?"));
}

TEST(Sweep, RefusesWhatIsNoListOrCannotBeVaried) {
  const auto swept = expand(
      "[train]\nsteps = 3\n[sweep]\n\"ddp.bucket_cap_mb\" = 5\n\"train.seed\" = []\n"
      "name = [\"a\", \"b\"]\n\"train.evaluate_every\" = [1, 1]\n");
  EXPECT_FALSE(swept.isSweep());
  EXPECT_THAT(
      messages(swept),
      ElementsAre(HasSubstr("e.toml:4:23: sweep.ddp.bucket_cap_mb: must be a list of values"),
                  HasSubstr("e.toml:5:16: sweep.train.seed: must be a list of values"),
                  HasSubstr("e.toml:6:1: sweep.name: cannot be varied"),
                  HasSubstr("e.toml:7:30: sweep.train.evaluate_every: has 1 twice")));
}

TEST(Sweep, HasALimitThatItNames) {
  std::string values;
  for (int i = 0; i < 20; ++i) {
    values += std::to_string(i) + ", ";
  }
  const auto swept = expand("[train]\nsteps = 3\n[sweep]\n\"train.seed\" = [" + values +
                            "]\n\"link.seed\" = [" + values + "]\n");
  EXPECT_THAT(messages(swept), ElementsAre("e.toml:5:15: sweep.link.seed: makes 400 runs with the "
                                           "keys above; a sweep has at most 256"));
}

TEST(Sweep, AnOverrideOfAKeyEndsItsSweep) {
  const auto swept = expand(
      "[train]\nsteps = 3\n[sweep]\n\"ddp.bucket_cap_mb\" = [1, 5]\n\"train.seed\" = [1, 2]\n",
      {{"ddp.bucket_cap_mb", "7"}});
  EXPECT_THAT(labels(swept), ElementsAre("seed=1", "seed=2"));
  EXPECT_EQ(swept.runs[1].parsed.experiment.ddp.bucketCapMb, 7);
}

TEST(Sweep, ARunSaysWhatItIsPartOfAndComesBackFromItsToml) {
  auto swept =
      expand("name = \"caps\"\n[train]\nsteps = 3\n[sweep]\n\"ddp.bucket_cap_mb\" = [1, 0.5]\n");
  swept.nameRuns("caps 20260101-000000");
  const Experiment& second = swept.runs[1].parsed.experiment;
  EXPECT_EQ(second.name, "caps bucket_cap_mb=0.5");
  const std::string toml = toToml(second);
  EXPECT_THAT(toml, HasSubstr("[sweep]\ngroup = \"caps 20260101-000000\"\n"
                              "run = \"bucket_cap_mb=0.5\"\n"));
  const auto again = expand(toml);
  EXPECT_FALSE(again.isSweep());
  EXPECT_THAT(messages(again), ElementsAre());
  EXPECT_EQ(again.runs[0].parsed.experiment, second);
}

TEST(Sweep, AnExperimentThatStandsAloneWritesNoSweep) {
  EXPECT_EQ(toToml(expand("[train]\nsteps = 3\n").runs[0].parsed.experiment).find("sweep"),
            std::string::npos);
}

TEST(Sweep, ParseFileTakesTheFirstOfItsRuns) {
  const support::TemporaryFolder folder;
  const auto path =
      folder.write("s.toml", "[sweep]\n\"train.steps\" = [5, 6]\n\"model.kind\" = [\"cnn\"]\n");
  const auto parsed = parseFile(path);
  EXPECT_THAT(parsed.mistakes, SizeIs(0));
  EXPECT_EQ(parsed.experiment.train.steps, 5);
  EXPECT_THAT(parsed.sweep, ElementsAre(SweepAxis{"train.steps", {"5", "6"}},
                                        SweepAxis{"model.kind", {"\"cnn\""}}));
  EXPECT_THAT(expandFile(path).runs, SizeIs(2));
  EXPECT_THAT(expandFile("/no/such.toml").mistakes, SizeIs(1));
}

TEST(Sweep, OfHooksLeavesTheFilesOwnHookItsParameters) {
  const auto swept = expand(
      "[hook]\nname = \"topk\"\ndensity = 0.05\n"
      "[sweep]\n\"hook.name\" = [\"allreduce\", \"topk\"]\n");
  ASSERT_THAT(swept.runs, SizeIs(2));
  EXPECT_EQ(swept.runs[0].parsed.written.count("hook.density"), 0u);
  EXPECT_EQ(swept.runs[1].parsed.written.count("hook.density"), 1u);
}

TEST(Sweep, ALabelIsAPartOfAFileName) {
  EXPECT_EQ(fileNamePart("bucket_cap_mb=0.5, hook=topk"), "bucket_cap_mb=0.5,hook=topk");
  EXPECT_EQ(fileNamePart("layers=[784, 10]"), "layers=784,10");
}

}  // namespace
}  // namespace lockstep::experiment

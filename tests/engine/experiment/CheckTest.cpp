#include <gmock/gmock.h>

#include <limits>

#include "engine/experiment/Parse.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::experiment {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Experiment sound() {
  Experiment experiment;
  experiment.train.steps = 10;
  return experiment;
}

std::vector<Mistake> mistakesOf(const Experiment& experiment) {
  return parseText(toToml(experiment), "form", {}).mistakes;
}

std::vector<std::string> wrong(const Experiment& experiment) {
  std::vector<std::string> result;
  for (const Mistake& mistake : mistakesOf(experiment)) {
    result.push_back("form: " + mistake.key + ": " + mistake.text);
  }
  return result;
}

TEST(Check, FindsNothingInASoundExperiment) {
  EXPECT_THAT(wrong(sound()), IsEmpty());
}

TEST(Check, FindsEveryValueOutOfRange) {
  Experiment experiment = sound();
  experiment.processes.worldSize = 1025;
  experiment.ddp.bucketCapMb = 0;
  experiment.optimizer.learningRate = std::numeric_limits<double>::quiet_NaN();
  experiment.hook.name.clear();
  const auto found = wrong(experiment);
  EXPECT_EQ(found.size(), 4U);
  EXPECT_THAT(found,
              Contains("form: processes.world_size: must be an integer from 1 to 1024, not 1025"));
}

TEST(Check, WantsARankForEveryHost) {
  Experiment experiment = sound();
  experiment.processes.hosts = 3;
  experiment.processes.backend = "gloo";  // asks for no hosts
  EXPECT_THAT(wrong(experiment), IsEmpty());
  experiment.processes.backend = "hierarchical";
  EXPECT_THAT(wrong(experiment),
              Contains("form: processes.hosts: 3 hosts are more than the 2 ranks"));
  experiment.processes.worldSize = 3;
  EXPECT_THAT(wrong(experiment), IsEmpty());
}

TEST(Check, LeavesKeysWithoutMeaningAlone) {
  Experiment experiment = sound();
  experiment.model.heads = 0;
  EXPECT_THAT(wrong(experiment), IsEmpty());
}

TEST(Check, WantsExactlyOneLength) {
  Experiment experiment;
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("missing: write either")));
  experiment.train.steps = 1;
  experiment.train.epochs = 1;
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("not both")));
}

TEST(Check, FitsTheMlpToMnist) {
  Experiment experiment = sound();
  experiment.model.layers = {100, 10};
  EXPECT_THAT(wrong(experiment),
              Contains(HasSubstr("must be 784 and the last 10, not 100 and 10")));
  experiment.data.kind = "synthetic";
  EXPECT_THAT(wrong(experiment), IsEmpty());
  experiment.model.layers = {100};
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("an input and an output width")));
  experiment.model.layers = {};
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("model.layers: must be a list of integers")));
}

TEST(Check, PairsModelsWithTheDataTheyTake) {
  const auto takes = [](const std::string& model, const std::string& data) {
    Experiment experiment = sound();
    experiment.model.kind = model;
    experiment.data.kind = data;
    for (const Mistake& mistake : mistakesOf(experiment)) {
      if (mistake.key == "data.kind") {
        return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(takes("char_gpt", "text"));
  EXPECT_FALSE(takes("char_gpt", "mnist"));
  EXPECT_TRUE(takes("cnn", "mnist"));
  EXPECT_TRUE(takes("resnet18", "synthetic"));
  EXPECT_FALSE(takes("cnn", "text"));
  EXPECT_FALSE(takes("shapes", "mnist"));
  EXPECT_TRUE(takes("torchscript", "text"));
}

TEST(Check, DividesTheEmbeddingAmongHeads) {
  Experiment experiment = sound();
  experiment.model.kind = "char_gpt";
  experiment.data.kind = "text";
  EXPECT_THAT(wrong(experiment), IsEmpty());
  experiment.model.heads = 3;
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("128 does not divide by model.heads = 3")));
  experiment.model.heads = 0;
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("model.heads: must be an integer")));
}

TEST(Check, WantsMomentumAndNoDampeningForNesterov) {
  Experiment experiment = sound();
  experiment.optimizer.nesterov = true;
  EXPECT_THAT(wrong(experiment), IsEmpty());
  experiment.optimizer.momentum = 0;
  experiment.optimizer.dampening = 0.5;
  EXPECT_EQ(wrong(experiment).size(), 2U);
}

TEST(Check, NamesFilesThatAreNotThere) {
  const support::TemporaryFolder folder;
  Experiment experiment = sound();
  experiment.model.kind = "shapes";
  experiment.data.kind = "synthetic";
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("\"shapes\" needs model.file")));
  experiment.model.file = (folder / "absent.json").string();
  EXPECT_THAT(wrong(experiment),
              Contains("form: model.file: there is no file " + experiment.model.file));
  experiment.model.file = folder.path().string();
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("is a folder, not a file")));

  experiment = sound();
  experiment.data.folder = (folder / "absent").string();
  experiment.train.resumeFrom = (folder / "absent.pt").string();
  experiment.train.checkpoint = (folder / "absent/out.pt").string();
  EXPECT_EQ(wrong(experiment).size(), 3U);
}

TEST(Check, WantsACheckpointToWriteEverySoManySteps) {
  Experiment experiment = sound();
  experiment.train.checkpointEvery = 5;
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("needs train.checkpoint")));
}

TEST(Check, WantsARingOfAPowerOfTwo) {
  Experiment experiment = sound();
  experiment.capture.ringEvents = 1000;
  EXPECT_THAT(wrong(experiment),
              Contains(HasSubstr("must be a power of two such as 512, not 1000")));
}

TEST(Check, WantsASampleForEachRank) {
  Experiment experiment = sound();
  experiment.data.kind = "synthetic";
  experiment.data.samples = 1;
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("1 samples are fewer than the 2 ranks")));
}

TEST(Check, WantsANameOfOneLine) {
  Experiment experiment = sound();
  experiment.name = "two\nlines";
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("name: must be one line")));
  experiment.name = "";
  EXPECT_THAT(wrong(experiment), Contains(HasSubstr("name: must not be empty")));
}

TEST(Check, StandsAtAKeyThatWasWrittenWhenARuleConcernsDefaults) {
  const auto outcome = parseText(
      "[data]\nkind = \"text\"\n[model]\nkind = \"ngram\"\n[train]\nsteps = 1\n", "x.toml", ".");
  ASSERT_EQ(outcome.mistakes.size(), 1U);
  EXPECT_THAT(outcome.mistakes.front().message(), testing::StartsWith("x.toml:4:8: "));
  EXPECT_THAT(outcome.mistakes.front().text, HasSubstr("sparse gradients need"));
}

}  // namespace
}  // namespace lockstep::experiment

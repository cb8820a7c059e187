#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/experiment/Parse.h"
#include "engine/experiment/Schema.h"

namespace lockstep::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTwoLines = "[train]\nsteps = 100\n";  // two lines

std::vector<std::string> faultMistakes(const std::string& faults) {
  std::vector<std::string> texts;
  for (const Mistake& mistake : parseText(kTwoLines + faults, "e.toml", "").mistakes) {
    texts.push_back(mistake.message());
  }
  return texts;
}

TEST(Faults, AreReadInTheOrderOfTheFile) {
  const auto outcome = parseText(
      std::string(kTwoLines) +
          "[[faults]]\nkind = \"delay\"\nrank = 1\nfrom = 4\nto = 40\nevery = 2\n"
          "layer = \"layers.1\"\nmilliseconds = 12.5\njitter_ms = 3\n"
          "[[faults]]\nkind = \"kill\"\nstep = 7\n"
          "[[faults]]\nkind = \"flip_bit\"\nrank = 1\nstep = 9\nparameter = \"a.weight\"\n"
          "element = 3\nbit = 30\n",
      "e.toml", "");
  ASSERT_THAT(outcome.mistakes, IsEmpty());
  const auto& faults = outcome.experiment.faults;
  ASSERT_EQ(faults.size(), 3u);
  EXPECT_EQ(faults[0].rank, 1);
  EXPECT_EQ(faults[0].from, 4);
  EXPECT_EQ(faults[0].to, 40);
  EXPECT_EQ(faults[0].every, 2);
  EXPECT_EQ(faults[0].layer, "layers.1");
  EXPECT_EQ(faults[0].milliseconds, 12.5);
  EXPECT_EQ(faults[0].jitterMs, 3);
  EXPECT_EQ(faults[1].kind, "kill");
  EXPECT_EQ(faults[1].step, 7);
  EXPECT_EQ(faults[2].parameter, "a.weight");
  EXPECT_EQ(faults[2].element, 3);
  EXPECT_EQ(faults[2].bit, 30);
}

TEST(Faults, AreWrittenSoThatTheyReadTheSame) {
  Experiment experiment;
  experiment.train.steps = 100;
  FaultConfig delay;
  delay.rank = 1;
  delay.bucket = 2;
  delay.milliseconds = 0.25;
  FaultConfig nan;
  nan.kind = "nan";
  nan.step = 0;
  nan.parameter = "a \"quoted\" name";
  FaultConfig uneven;
  uneven.kind = "uneven";
  uneven.samples = 300;
  experiment.faults = {delay, nan, uneven};
  const auto outcome = parseText(toToml(experiment), "e.toml", "");
  ASSERT_THAT(outcome.mistakes, IsEmpty());
  EXPECT_EQ(outcome.experiment, experiment);
}

TEST(Faults, HaveEachMistakeAtItsPlace) {
  EXPECT_THAT(
      faultMistakes("[[faults]]\nkind = \"dealy\"\nmilliseconds = \"ten\"\n"
                    "[[faults]]\nkind = \"kill\"\nstep = 3\nbit = 4\nrnak = 1\n"),
      ElementsAre("e.toml:4:8: faults.kind: must be one of delay, stop, kill, flip_bit, nan, "
                  "uneven, not \"dealy\"; did you mean \"delay\"?",
                  "e.toml:5:16: faults.milliseconds: must be a number from 0 to 3600000, not "
                  "\"ten\"",
                  "e.toml:9:1: faults.bit: has no meaning with faults.kind = \"kill\", only with "
                  "flip_bit; leave it out",
                  "e.toml:10:1: faults.rnak: unknown key; did you mean faults.rank?"));
}

TEST(Faults, SayWhatIsMissing) {
  EXPECT_THAT(faultMistakes("[[faults]]\nkind = \"delay\"\n"),
              ElementsAre(HasSubstr("e.toml:3:1: faults.milliseconds: missing: a delay needs")));
  EXPECT_THAT(faultMistakes("[[faults]]\nkind = \"stop\"\n"),
              ElementsAre(HasSubstr("faults.step: missing: a fault of kind \"stop\" needs")));
  EXPECT_THAT(faultMistakes("[[faults]]\nkind = \"nan\"\nstep = 1\n"),
              ElementsAre(HasSubstr("faults.parameter: missing: a fault of kind \"nan\" needs")));
  EXPECT_THAT(faultMistakes("[[faults]]\nkind = \"uneven\"\n"),
              ElementsAre(HasSubstr("faults.samples: missing")));
}

TEST(Faults, FitTheRunTheyHappenIn) {
  EXPECT_THAT(faultMistakes("[[faults]]\nkind = \"kill\"\nrank = 2\nstep = 100\n"),
              ElementsAre("e.toml:5:8: faults.rank: there is no rank 2 among 2",
                          "e.toml:6:8: faults.step: 100 is not reached: the run has 100 steps, "
                          "from 0"));
}

TEST(Faults, DoNotContradictThemselves) {
  const std::string delay = "[[faults]]\nkind = \"delay\"\nmilliseconds = 1\n";
  EXPECT_THAT(faultMistakes(delay + "layer = \"a\"\nbucket = 0\n"),
              ElementsAre(HasSubstr("either faults.layer or faults.bucket")));
  EXPECT_THAT(faultMistakes(delay + "phase = \"data\"\nlayer = \"a\"\n"),
              ElementsAre(HasSubstr("either faults.phase or faults.layer or faults.bucket")));
  EXPECT_THAT(faultMistakes(delay + "step = 1\nevery = 2\n"),
              ElementsAre(HasSubstr("either faults.step or faults.from")));
  EXPECT_THAT(faultMistakes(delay + "from = 5\nto = 4\n"),
              ElementsAre(HasSubstr("stands before faults.from = 5")));
  EXPECT_THAT(faultMistakes(delay + "jitter_ms = 2\n"),
              ElementsAre(HasSubstr("must not be above faults.milliseconds = 1")));
}

TEST(Faults, AreAListOfTables) {
  EXPECT_THAT(faultMistakes("[faults]\nkind = \"kill\"\nstep = 1\n"),
              ElementsAre("e.toml:3:2: faults: is a list of tables: write [[faults]]"));
  EXPECT_THAT(faultMistakes("[[fautls]]\nkind = \"kill\"\n"),
              ElementsAre(HasSubstr("unknown list of tables; the only one is [[faults]]")));
}

TEST(Faults, AreCheckedInAFinishedExperimentToo) {
  Experiment experiment;
  experiment.train.steps = 10;
  FaultConfig fault;
  fault.kind = "kill";
  fault.rank = 5;
  fault.step = 3;
  experiment.faults = {fault};
  const auto mistakes = parseText(toToml(experiment), "e.toml", {}).mistakes;
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_EQ(mistakes[0].key, "faults.rank");
  EXPECT_EQ(mistakes[0].text, "there is no rank 5 among 2");
}

TEST(Faults, AreExplainedWithTheOtherKeys) {
  EXPECT_THAT(describeSchema(), HasSubstr("[[faults]], one table a fault"));
  EXPECT_THAT(describeSchema(), HasSubstr("an integer from 0 to 63; default 0; only for flip_bit"));
}

}  // namespace
}  // namespace lockstep::experiment

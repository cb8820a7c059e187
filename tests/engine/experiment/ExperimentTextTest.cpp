#include "engine/experiment/ExperimentText.h"

#include <gtest/gtest.h>

#include "engine/experiment/Parse.h"

namespace lockstep::experiment {
namespace {

constexpr const char* kFile =
    "# What this file is for.\n"
    "name = \"été\"  # a name\n"
    "\n"
    "[model]\n"
    "kind = \"mlp\"\n"
    "layers = [784,  # input\n"
    "  10]\n"
    "\n"
    "# About the hook.\n"
    "[hook]\n"
    "name = \"fp16\"\n"
    "\n"
    "[train]\n"
    "steps = 5 # few\n"
    "\n"
    "# The first fault.\n"
    "[[faults]]\n"
    "kind = \"kill\"\n"
    "rank = 1\n"
    "step = 2\n"
    "\n"
    "[[faults]]\n"
    "kind = \"delay\"\n";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(ExperimentText, ChangesAValueAndLeavesEveryOtherCharacterAsItWasWritten) {
  ExperimentText text(kFile);
  text.set("train.steps", "12");
  EXPECT_EQ(text.text(), replaced(kFile, "5 # few", "12 # few"));
  text.set("name", "\"a\"");
  EXPECT_EQ(text.value("name"), "\"a\"");
  text.set("model.layers", "[1, 2]");
  EXPECT_NE(text.text().find("layers = [1, 2]\n\n# About the hook."), std::string::npos);
  EXPECT_FALSE(text.rewritten());
}

TEST(ExperimentText, WritesANewKeyAtTheEndOfItsTable) {
  ExperimentText text(kFile);
  text.set("model.dtypes", "[\"float64\"]");
  EXPECT_EQ(text.text(), replaced(kFile, "  10]\n", "  10]\ndtypes = [\"float64\"]\n"));
}

TEST(ExperimentText, WritesANewTableWhereTheFormHasItAndAboveTheCommentOfTheNext) {
  ExperimentText text(kFile);
  text.set("ddp.bucket_cap_mb", "4");
  EXPECT_EQ(text.text(),
            replaced(kFile, "# About the hook.", "[ddp]\nbucket_cap_mb = 4\n\n# About the hook."));
  text.set("hook.inner.density", "0.5");
  EXPECT_NE(text.text().find("[hook.inner]\ndensity = 0.5\n\n[train]"), std::string::npos);
  text.set("sweep.ddp.bucket_cap_mb", "[1, 5]");
  EXPECT_NE(text.text().find("[sweep]\n\"ddp.bucket_cap_mb\" = [1, 5]\n"), std::string::npos);
  EXPECT_EQ(text.value("sweep.ddp.bucket_cap_mb"), "[1, 5]");
}

TEST(ExperimentText, WritesAFirstKeyOutsideTablesBelowTheOpeningComment) {
  ExperimentText text("# About.\n\n[train]\nsteps = 1\n");
  text.set("name", "\"x\"");
  EXPECT_EQ(text.text(), "# About.\nname = \"x\"\n\n[train]\nsteps = 1\n");
}

TEST(ExperimentText, TakesAKeyOutWithAllItsLinesAndATableThatIsEmptyThen) {
  ExperimentText text(kFile);
  text.remove("model.layers");
  EXPECT_EQ(text.text(), replaced(kFile, "layers = [784,  # input\n  10]\n", ""));
  text.remove("train.steps");
  EXPECT_EQ(text.text().find("[train]"), std::string::npos);
  EXPECT_NE(text.text().find("name = \"fp16\"\n\n# The first fault."), std::string::npos);
  EXPECT_FALSE(text.value("train.steps"));
}

TEST(ExperimentText, SetAndRemovedAgainIsTheTextItWas) {
  ExperimentText text(kFile);
  text.set("ddp.bucket_cap_mb", "4");
  text.set("optimizer.momentum", "0.5");
  text.remove("ddp.bucket_cap_mb");
  text.remove("optimizer.momentum");
  EXPECT_EQ(text.text(), kFile);
}

TEST(ExperimentText, EditsFaultsOneByOne) {
  ExperimentText text(kFile);
  ASSERT_EQ(text.faultCount(), 2U);
  text.setInFault(1, "milliseconds", "30");
  text.setInFault(0, "step", "3");
  text.removeInFault(0, "rank");
  using Pairs = std::vector<ExperimentText::Pair>;
  EXPECT_EQ(text.fault(0), (Pairs{{"kind", "\"kill\""}, {"step", "3"}}));
  EXPECT_EQ(text.fault(1), (Pairs{{"kind", "\"delay\""}, {"milliseconds", "30"}}));
  text.addFault({{"kind", "\"uneven\""}, {"samples", "8"}});
  ASSERT_EQ(text.faultCount(), 3U);
  text.removeFault(0);
  ASSERT_EQ(text.faultCount(), 2U);
  EXPECT_EQ(text.fault(0), (Pairs{{"kind", "\"delay\""}, {"milliseconds", "30"}}));
  EXPECT_EQ(text.text().find("The first fault"), std::string::npos);
  text.removeFault(1);
  text.removeFault(0);
  EXPECT_EQ(text.text().substr(text.text().find("[train]")), "[train]\nsteps = 5 # few\n");
}

TEST(ExperimentText, KnowsTheFaultOfALine) {
  const ExperimentText text(kFile);
  EXPECT_FALSE(text.faultAt(14));  // steps
  EXPECT_EQ(text.faultAt(17), 0U);
  EXPECT_EQ(text.faultAt(20), 0U);
  EXPECT_EQ(text.faultAt(23), 1U);
}

TEST(ExperimentText, InlineTablesAreWrittenAnewAndItSaysSo) {
  ExperimentText text(
      "model = {kind = \"mlp\", layers = [784, 10]} # one line\n"
      "faults = [{kind = \"kill\", step = 2}]\nddp.join = true\n");
  text.remove("model.kind");
  EXPECT_TRUE(text.rewritten());
  EXPECT_EQ(text.text(),
            "[model]\nlayers = [784, 10]\n\n[ddp]\njoin = true\n\n"
            "[[faults]]\nkind = \"kill\"\nstep = 2\n");
}

TEST(ExperimentText, ATextThatIsNoTomlIsLeftAlone) {
  ExperimentText text("[train\nsteps = 1\n");
  EXPECT_FALSE(text.readable());
  text.set("train.steps", "2");
  text.addFault({{"kind", "\"kill\""}});
  text.removeFault(0);
  EXPECT_EQ(text.text(), "[train\nsteps = 1\n");
}

TEST(ExperimentText, AnEmptyTextBecomesAnExperiment) {
  ExperimentText text;
  text.set("train.steps", "3");
  text.set("name", "\"n\"");
  text.addFault({{"kind", "\"kill\""}, {"step", "1"}});
  const auto parsed = parseText(text.text(), "new", "/");
  EXPECT_TRUE(parsed.mistakes.empty());
  EXPECT_EQ(parsed.experiment.train.steps, 3);
  EXPECT_EQ(parsed.experiment.name, "n");
  EXPECT_EQ(parsed.experiment.faults.size(), 1U);
}

}  // namespace
}  // namespace lockstep::experiment

// [hook] and the hooks inside it: keys that the schema does not have.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "engine/experiment/Parse.h"

namespace lockstep::experiment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::string kOneStep = "[train]\nsteps = 1\n";

ParseOutcome parsed(const std::string& hook, const Overrides& overrides = {}) {
  return parseText(kOneStep + hook, "e.toml", "/lab", overrides);
}

std::vector<std::string> hookMistakes(const std::string& hook) {
  std::vector<std::string> mistakes;
  for (const Mistake& mistake : parsed(hook).mistakes) {
    mistakes.push_back(mistake.message());
  }
  return mistakes;
}

constexpr const char* kChain = R"([hook]
name = "fp16"
library = "mine/fp16.so"
scale = 1.5
shift = 2.0
clip = true

[hook.inner]
name = "topk"
density = 1

[hook.inner.inner]
name = "allreduce"
tag = "x"
)";

TEST(Hooks, KeepTheirParametersAsTheyWereWritten) {
  const auto outcome = parsed(kChain);
  ASSERT_THAT(outcome.mistakes, IsEmpty());
  const HookConfig& hook = outcome.experiment.hook;
  EXPECT_EQ(hook.name, "fp16");
  EXPECT_EQ(hook.library, "/lab/mine/fp16.so");
  EXPECT_THAT(hook.values, ElementsAre(Pair("clip", HookValue(true)), Pair("scale", HookValue(1.5)),
                                       Pair("shift", HookValue(2.0))));
  ASSERT_EQ(hook.inner.size(), 2U);
  EXPECT_EQ(hook.inner[0].name, "topk");
  EXPECT_THAT(hook.inner[0].values, ElementsAre(Pair("density", HookValue(std::int64_t{1}))));
  EXPECT_EQ(hook.inner[1].name, "allreduce");
  EXPECT_THAT(hook.inner[1].values, ElementsAre(Pair("tag", HookValue(std::string("x")))));
}

TEST(Hooks, ComeBackFromTheTextTheyAreWrittenAs) {
  const auto outcome = parsed(kChain);
  const auto again = parseText(toToml(outcome.experiment), "e.toml", "/elsewhere");
  EXPECT_THAT(again.mistakes, IsEmpty());
  EXPECT_EQ(again.experiment, outcome.experiment);
}

TEST(Hooks, AreTheEnginesOwnOnlyWithoutAnythingOfAPlugin) {
  EXPECT_TRUE(parsed("").experiment.hook.isOwn());
  EXPECT_TRUE(parsed("[hook]\nname = \"noop\"\n").experiment.hook.isOwn());
  EXPECT_FALSE(parsed("[hook]\nname = \"topk\"\n").experiment.hook.isOwn());
  EXPECT_FALSE(parsed("[hook]\nlibrary = \"a.so\"\n").experiment.hook.isOwn());
  EXPECT_FALSE(parsed("[hook]\nx = 1\n").experiment.hook.isOwn());
  EXPECT_FALSE(parsed("[hook.inner]\nname = \"topk\"\n").experiment.hook.isOwn());
}

TEST(Hooks, RefuseAValueThatNoParameterCanHave) {
  EXPECT_THAT(hookMistakes("[hook]\nname = \"topk\"\ndensity = [1, 2]\n"),
              ElementsAre("e.toml:5:11: hook.density: must be a number, a text in quotes, true or "
                          "false, not [1, 2]"));
  EXPECT_THAT(hookMistakes("[hook.inner]\nname = 3\n"),
              ElementsAre("e.toml:4:8: hook.inner.name: must be a text in quotes, not 3"));
  EXPECT_THAT(hookMistakes("[hook.outer]\nname = \"topk\"\n"),
              ElementsAre("e.toml:3:1: hook.outer: must be a number, a text in quotes, true or "
                          "false, not a table"));
}

TEST(Hooks, WantANameForEachHookInside) {
  EXPECT_THAT(hookMistakes("[hook]\nname = \"fp16\"\n[hook.inner]\nrank = 1\n"),
              ElementsAre("e.toml:4:8: hook.inner.name: [hook.inner] must say the name of the hook "
                          "inside"));
}

TEST(Hooks, StandInsideOneAnotherToALimit) {
  std::string hooks = "[hook]\nname = \"a\"\n";
  std::string table = "hook";
  for (int depth = 0; depth < 5; ++depth) {
    table += ".inner";
    hooks += "[" + table + "]\nname = \"b\"\n";
  }
  EXPECT_THAT(hookMistakes(hooks), ElementsAre("e.toml:6:8: hook.inner.name: at most 4 hooks can "
                                             "stand inside one another"));
}

TEST(Hooks, LoseWhatTheFileTellsThemWhenTheCommandLineNamesAnother) {
  const auto outcome = parsed(kChain, {{"hook.name", "topk"}, {"hook.density", "0.1"}});
  ASSERT_THAT(outcome.mistakes, IsEmpty());
  const HookConfig& hook = outcome.experiment.hook;
  EXPECT_EQ(hook.name, "topk");
  EXPECT_EQ(hook.library, "");
  EXPECT_THAT(hook.values, ElementsAre(Pair("density", HookValue(0.1))));
  EXPECT_THAT(hook.inner, IsEmpty());
}

TEST(Hooks, AreFoundWrongLaterAtThePlaceTheyWereWritten) {
  auto outcome = parsed(kChain);
  outcome.add({outcome.at("hook.scale", "is too much"), outcome.at("hook.clip", "unknown", true),
               outcome.at("hook.absent", "is missing")});
  ASSERT_EQ(outcome.mistakes.size(), 3U);
  EXPECT_EQ(outcome.mistakes[0].message(), "e.toml: hook.absent: is missing");
  EXPECT_EQ(outcome.mistakes[1].message(), "e.toml:6:9: hook.scale: is too much");
  EXPECT_EQ(outcome.mistakes[2].message(), "e.toml:8:1: hook.clip: unknown");
  EXPECT_EQ(outcome.experiment.hook, HookConfig{});
}

}  // namespace
}  // namespace lockstep::experiment

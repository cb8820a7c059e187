#include "engine/plugin/ResolveHooks.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/BuiltFiles.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::plugin {
namespace {

using support::built;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class ResolveHooks : public testing::Test {
 protected:
  /// Resolves an experiment with this [hook], as if it were read from a file of `folder`.
  ResolvedHooks resolve(const std::string& hook) {
    parsed = experiment::parseText("[train]\nsteps = 1\n[hook]\n" + hook, "e.toml", folder.path());
    return resolveHooks(parsed, folder / "e.toml", options);
  }

  std::vector<std::string> mistakes() const {
    std::vector<std::string> texts;
    for (const auto& mistake : parsed.mistakes) {
      texts.push_back(mistake.message());
    }
    return texts;
  }

  const support::TemporaryFolder folder;
  ScanOptions options{"", (folder / "cache.json").string(), std::chrono::seconds(20)};
  experiment::ParseOutcome parsed;
};

TEST_F(ResolveHooks, FindNothingForTheEnginesOwn) {
  EXPECT_THAT(resolve("name = \"noop\"\n").choice, IsEmpty());
  EXPECT_THAT(mistakes(), IsEmpty());
}

TEST_F(ResolveHooks, FindAHookAndTheOnesInsideByTheirNames) {
  const auto resolved = resolve(
      "name = \"fp16\"\n[hook.inner]\nname = \"topk\"\ndensity = 1\nerror_feedback = false\n");
  EXPECT_THAT(mistakes(), IsEmpty());
  ASSERT_EQ(resolved.choice.size(), 2U);
  EXPECT_EQ(resolved.choice[0], (ChosenHook{built("hooks/fp16.so"), "fp16", {}}));
  EXPECT_EQ(resolved.choice[1].library, built("hooks/topk.so"));
  EXPECT_THAT(resolved.choice[1].values,
              ElementsAre(Pair("density", HookValue(1.0)), Pair("error_feedback", HookValue(0.0))));
  EXPECT_EQ(resolved.infos[1].id, "topk");
  EXPECT_EQ(parsed.experiment.hook.library, "") << "built-in ones are found by every process";
}

TEST_F(ResolveHooks, PreferTheExperimentsOwnAndSayWhereItIs) {
  std::filesystem::create_directory(folder / "hooks");
  std::filesystem::copy(built("hooks/noop.so"), folder / "hooks/fp16.so");
  std::filesystem::copy(built("hooks/fp16.so"), folder / "hooks/mine.so");
  const auto resolved = resolve("name = \"fp16\"\n");
  ASSERT_EQ(resolved.choice.size(), 1U);
  EXPECT_EQ(resolved.choice[0].library, (folder / "hooks/mine.so").string());
  EXPECT_EQ(parsed.experiment.hook.library, (folder / "hooks/mine.so").string());
}

TEST_F(ResolveHooks, FindALibraryByItsPath) {
  std::filesystem::copy(built("hooks/topk.so"), folder / "any.so");
  const auto resolved = resolve("name = \"topk\"\nlibrary = \"any.so\"\n");
  EXPECT_THAT(mistakes(), IsEmpty());
  ASSERT_EQ(resolved.choice.size(), 1U);
  EXPECT_EQ(resolved.choice[0].library, (folder / "any.so").string());
}

TEST_F(ResolveHooks, NameTheNearestHook) {
  resolve("name = \"powersdg\"\n");
  EXPECT_THAT(mistakes(), ElementsAre("e.toml:4:8: hook.name: there is no hook \"powersdg\"; did "
                                      "you mean powersgd?"));
  resolve("name = \"zebra\"\n");
  EXPECT_THAT(mistakes(), ElementsAre(HasSubstr("there is no hook \"zebra\"; the hooks are ")));
}

TEST_F(ResolveHooks, SayWhyAHookOfThatNameWasRefused) {
  std::filesystem::create_directory(folder / "hooks");
  std::filesystem::copy(built("broken_hooks/incomplete_2.so"), folder / "hooks/mine.so");
  resolve("name = \"mine\"\n");
  EXPECT_THAT(mistakes(), ElementsAre(HasSubstr("mine.so: its init() refused with status -5")));
}

TEST_F(ResolveHooks, SayWhatIsWrongWithALibrary) {
  resolve("name = \"topk\"\nlibrary = \"absent.so\"\n");
  EXPECT_THAT(mistakes(), ElementsAre("e.toml:5:11: hook.library: " +
                                      (folder / "absent.so").string() + ": there is no such file"));
  resolve("name = \"zebra\"\nlibrary = \"" + built("hooks/topk.so") + "\"\n");
  EXPECT_THAT(mistakes(), ElementsAre("e.toml:4:8: hook.name: " + built("hooks/topk.so") +
                                      " has no hook \"zebra\"; it has topk"));
}

TEST_F(ResolveHooks, CheckParametersAsTheSchemaChecksKeys) {
  resolve("name = \"topk\"\ndensity = 2\nfeedback = true\nzebra = 1\nerror_feedback = 1\n");
  EXPECT_THAT(mistakes(),
              ElementsAre("e.toml:5:11: hook.density: must be a number from 1e-06 to 1, not 2",
                          "e.toml:6:1: hook.feedback: unknown key; did you mean "
                          "hook.error_feedback?",
                          HasSubstr("e.toml:7:1: hook.zebra: unknown key; the parameters of hook "
                                    "\"topk\" are density, error_feedback"),
                          "e.toml:8:18: hook.error_feedback: must be true or false, not 1"));
  resolve("name = \"noop\"\nx = 1\n");
  EXPECT_THAT(mistakes(),
              ElementsAre("e.toml:5:1: hook.x: unknown key; hook \"noop\" has no parameters"));
}

TEST_F(ResolveHooks, RefuseAHookInsideOneThatTakesNone) {
  resolve("name = \"topk\"\n[hook.inner]\nname = \"fp16\"\n");
  EXPECT_THAT(mistakes(),
              ElementsAre("e.toml:4:8: hook.name: hook \"topk\" takes no other hook inside"));
}

TEST_F(ResolveHooks, RefuseJoinForAHookThatNeedsEveryRank) {
  resolve("name = \"topk\"\n[ddp]\njoin = true\n");
  EXPECT_THAT(mistakes(), ElementsAre("e.toml:4:8: hook.name: hook \"topk\" cannot do without a "
                                      "rank that has no inputs; leave ddp.join out"));
  resolve("name = \"fp16\"\n[ddp]\njoin = true\n");
  EXPECT_THAT(mistakes(), IsEmpty());
}

TEST_F(ResolveHooks, RefuseADeviceThatAHookDoesNotTake) {
  const std::string onCuda = "[processes]\ndevice = \"cuda\"\n";
  resolve("name = \"topk\"\n" + onCuda);
  EXPECT_THAT(mistakes(), ElementsAre("e.toml:4:8: hook.name: hook \"topk\" takes no gradients on "
                                      "\"cuda\"; set processes.device = \"cpu\", or take another "
                                      "hook"));
  for (const char* name : {"fp16", "bf16", "powersgd"}) {
    resolve("name = \"" + std::string(name) + "\"\n" + onCuda);
    EXPECT_THAT(mistakes(), IsEmpty()) << name;
  }
}

TEST_F(ResolveHooks, RefuseJoinForEveryHookOfTheLibraryThatCannot) {
  // The others join: tests/engine/hooks/plugin/CompositionTest.cpp.
  for (const char* name : {"delayed", "dgc", "ef_sign", "gossip", "hierarchical", "onebit",
                           "post_local_sgd", "powersgd", "randomk", "sign", "zero_rs"}) {
    const std::string quoted = std::string("\"") + name + "\"";
    resolve("name = " + quoted + "\n[ddp]\njoin = true\n");
    EXPECT_THAT(mistakes(),
                ElementsAre(HasSubstr(quoted + " cannot do without a rank that has no inputs")));
  }
}

}  // namespace
}  // namespace lockstep::plugin

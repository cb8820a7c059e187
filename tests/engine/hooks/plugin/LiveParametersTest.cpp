#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hooks/HookError.h"
#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using test::HookRank;
using test::libraryHook;
using testing::Each;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(LiveParameters, ChangeWhatTheHookDoesFromTheNextStepOn) {
  const auto errors =
      test::runHooks(2, libraryHook("topk", {{"density", 0.1}}), [](HookRank& rank) {
        rank.average(test::gradients(1000, rank.rank), 0);
        EXPECT_EQ(rank.hook->takeCounters().at("hook.kept"), 100);
        rank.hook->set("hook.density", 0.02);
        rank.average(test::gradients(1000, rank.rank), 1);
        EXPECT_EQ(rank.hook->takeCounters().at("hook.kept"), 20);
      });
  EXPECT_THAT(errors, Each(""));
}

TEST(LiveParameters, AreRefusedWithASentenceAndStayAsTheyWere) {
  const auto errors =
      test::runHooks(1, libraryHook("topk", {{"density", 0.1}}), [](HookRank& rank) {
        const auto refusal = [&](const std::string& key, const plugin::HookValue& value,
                                 const std::string& sentence) {
          EXPECT_THAT([&] { rank.hook->set(key, value); },
                      ThrowsMessage<HookError>(HasSubstr(sentence)));
        };
        refusal("hook.density", 2.0, "hook 'topk': density must be a number from");
        refusal("hook.density", std::string("much"), "density must be a number from");
        refusal("hook.error_feedback", 0.0, "error_feedback cannot change during a run");
        refusal("train.steps", 2.0, "train.steps is no parameter of a hook");
        refusal("hook.depth", 0.5, "depth cannot change during a run");
        refusal("hook.inner.density", 0.5, "there is no hook inside hook 'topk'");
        rank.average(test::gradients(1000, rank.rank), 0);
        EXPECT_EQ(rank.hook->takeCounters().at("hook.kept"), 100);
      });
  EXPECT_THAT(errors, Each(""));
}

TEST(LiveParameters, OfAHookInsideChangeAsWell) {
  plugin::HookChoice choice = libraryHook("fp16");
  choice.push_back(libraryHook("topk", {{"density", 0.1}}).front());
  const auto errors = test::runHooks(1, choice, [](HookRank& rank) {
    EXPECT_EQ(rank.hook->liveBeginnings(),
              (std::map<std::string, double>{{"hook.inner.density", 0.1}}));
    rank.hook->set("hook.inner.density", 0.5);
    EXPECT_THAT([&] { rank.hook->set("hook.density", 0.5); },
                ThrowsMessage<HookError>(HasSubstr("hook 'fp16': density cannot change")));
  });
  EXPECT_THAT(errors, Each(""));
}

}  // namespace
}  // namespace lockstep::hooks

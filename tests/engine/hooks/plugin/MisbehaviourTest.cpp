#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hooks/HookError.h"
#include "tests/engine/hooks/plugin/HookRanks.h"

namespace lockstep::hooks {
namespace {

using test::builtHook;
using test::HookRank;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kBuckets = 3;

/// Three steps of three buckets, with what comes around a step; rank 1 misbehaves in step 1.
std::vector<std::string> train(const std::string& wrong, const plugin::HookChoice& inside = {}) {
  plugin::HookChoice choice{
      builtHook("broken_hooks/misbehaving.so", "misbehaving", {{"wrong", wrong}})};
  choice.insert(choice.end(), inside.begin(), inside.end());
  return test::runHooks(2, choice, [](HookRank& rank) {
    rank.hook->setParameters({"weight"}, {at::zeros({4})});
    for (std::uint32_t step = 0; step < 3; ++step) {
      for (std::uint32_t index = 0; index < kBuckets; ++index) {
        const auto future = rank.start(at::ones({64}), step, index, kBuckets);
        if (!future.waitFor(std::chrono::seconds(2))) {
          throw HookError("no result");
        }
        (void)future.value();
      }
      rank.hook->afterOptimizer(step);
    }
  });
}

struct Mistake {
  const char* wrong;
  const char* sentence;  // of rank 1
};

class Misbehaving : public testing::TestWithParam<Mistake> {};

TEST_P(Misbehaving, EndsInASentenceThatNamesTheBucketAndTheStep) {
  const auto errors = train(GetParam().wrong);
  EXPECT_THAT(errors[1], HasSubstr(GetParam().sentence));
  EXPECT_NE(errors[0], "") << "the other rank must not go on alone";
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, Misbehaving,
    testing::Values(
        Mistake{"throw", "bucket 2 of step 1: a matrix of 0 columns"},
        Mistake{"status", "bucket 2 of step 1: not this bucket"},
        Mistake{"math",
                "bucket 2 of step 1: matmul was refused: math: matmul: a buffer of 64 "
                "elements, where 72 are needed"},
        Mistake{"hang", "no result"}, Mistake{"never", "no result"},
        Mistake{"twice", "it called complete() for bucket 2 of step 1 after that had ended"},
        Mistake{"late_call", "it called all_reduce() for bucket 2 of step 1 after that had ended"},
        Mistake{"stranger", "it called fail() with a run that is none"},
        Mistake{"scratch",
                "bucket 2 of step 1: no scratch memory of -1 elements: it asked for -1 elements "
                "of scratch memory"},
        Mistake{"open",
                "bucket 2 of step 1: it called complete() while 1 of its operations had "
                "not been resumed"},
        Mistake{"after_no_more",
                "bucket 2 of step 1: all_reduce was refused: an operation was "
                "queued after no_more()"},
        Mistake{"short",
                "bucket 2 of step 1: all_gather was refused: all_gather: out: 64 "
                "elements of Float are not 2 times 64 of Float"},
        Mistake{"to_nobody",
                "bucket 2 of step 1: exchange was refused: exchange: to is 2; ranks of this "
                "group are 0 to 1"},
        Mistake{"from_nobody",
                "bucket 2 of step 1: exchange was refused: exchange: from is -1; ranks of this "
                "group are 0 to 1"},
        Mistake{"beyond",
                "bucket 2 of step 1: all_reduce was refused: all_reduce: 1064 elements "
                "of Float are bytes 0 to 4256 of bucket 2 of step 1, which has 256"},
        Mistake{"before",
                "bucket 2 of step 1: broadcast was refused: broadcast: 64 elements of "
                "Float are bytes -16 to 240 of bucket 2 of step 1, which has 256"},
        Mistake{"past_scratch",
                "all_reduce: 3 elements of Double are bytes 240 to 264 of scratch "
                "memory of bucket 2 of step 1, which has 256"},
        Mistake{"past_scattered",
                "reduce_scatter: 80 elements of Float are bytes 0 to 320 of "
                "bucket 2 of step 1, which has 256"},
        Mistake{"past_kept",
                "all_reduce: 11 elements of Float are bytes 0 to 44 of memory that it "
                "allocated, which has 40"},
        Mistake{"past_filled",
                "fill was refused: math: fill: 64 elements of Float are bytes 4 to "
                "260 of bucket 2 of step 1, which has 256"},
        Mistake{"past_parameter",
                "after_optimizer of step 1: all_reduce was refused: all_reduce: "
                "5 elements of Float are bytes 0 to 20 of parameter weight, "
                "which has 16"},
        Mistake{"step_throw", "after_optimizer of step 1: the averaging failed"},
        Mistake{"step_never", "after_optimizer of step 1 did not end within 2000 ms"}),
    [](const auto& info) { return info.param.wrong; });

TEST(MisbehavingHook, ThatRefusesToBeCreatedIsNamed) {
  const auto errors = train("create");
  EXPECT_THAT(errors[1], HasSubstr("hook 'misbehaving' could not be created: it would rather not"));
}

TEST(MisbehavingHook, ThatGivesTheHookInsideSomethingElseThanABucketIsTold) {
  EXPECT_THAT(train("inner_part", {builtHook("hooks/allreduce.so", "allreduce")})[1],
              HasSubstr("bucket 2 of step 1: inner hook was refused: the hook inside was given 1 "
                        "elements, the bucket has 64"));
  EXPECT_THAT(train("inner_later", {builtHook("hooks/allreduce.so", "allreduce")})[1],
              HasSubstr("after_optimizer of step 1: inner hook was refused: the hook inside "
                        "averages buckets, and this run has none"));
}

TEST(MisbehavingHook, WithoutRunIsNotTakenAndOneThatGivesNoReasonIsToldByItsStatus) {
  const auto of = [](int number) {
    return test::runHooks(
        1, {builtHook("broken_hooks/incomplete_" + std::to_string(number) + ".so", "incomplete")},
        [](HookRank& rank) { rank.average(at::ones({64})); });
  };
  EXPECT_THAT(of(11), ElementsAre("hook 'incomplete' could not be created: its table lacks run, "
                                  "resume or destroy"));
  EXPECT_THAT(of(12), ElementsAre("bucket 0 of step 0: it returned status -2"));
}

TEST(MisbehavingHook, ThatHoldsABucketIsEndedWithTheRun) {
  const auto errors =
      test::runHooks(1,
                     {builtHook("broken_hooks/misbehaving.so", "misbehaving",
                                {{"wrong", "never"}, {"rank", 0.0}, {"step", 0.0}})},
                     [](HookRank& rank) {
                       const auto future = rank.start(at::ones({64}));
                       EXPECT_TRUE(rank.hook->close());
                       (void)future.value();
                     });
  EXPECT_THAT(errors, ElementsAre("the run has ended"));
}

TEST(MisbehavingHook, TrainsWhenItDoesNothingWrong) {
  EXPECT_THAT(train("nothing"), testing::Each(""));
}

}  // namespace
}  // namespace lockstep::hooks

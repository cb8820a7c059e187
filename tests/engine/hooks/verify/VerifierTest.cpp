#include "engine/hooks/verify/Verifier.h"
#include "tests/support/BuiltFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep::hooks {
namespace {

using plugin::Verification;
using support::built;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Verification verified(const plugin::ChosenHook& hook, int ranks = 2) {
  VerifierOptions options;
  options.hook = hook;
  options.ranks = ranks;
  options.stuck = [](const Verification& stuck) {
    ADD_FAILURE() << testing::PrintToString(stuck.problems);
    std::_Exit(1);
  };
  return verify(options);
}

Verification withLie(const std::string& lie, int ranks = 2) {
  return verified({built("broken_hooks/lying.so"), "lying", {{"lie", lie}}}, ranks);
}

TEST(Verifier, FindsNothingWrongWithWhatKeepsItsContract) {
  const Verification verification = withLie("none", 3);
  EXPECT_THAT(verification.problems, IsEmpty());
  EXPECT_THAT(verification.notes, IsEmpty());
  EXPECT_EQ(verification.ranks, 3);
  EXPECT_TRUE(verification.gradientsSame);
  EXPECT_TRUE(verification.parametersSame);
  EXPECT_GT(verification.meanError, 0);
  EXPECT_LT(verification.meanError, 1e-6);
  EXPECT_GT(verification.stateBytes, 0);
  EXPECT_GT(verification.stepMs, 0);
  EXPECT_GT(verification.allreduceMs, 0);
  // Two thirds of 101,091 numbers of 4 bytes, twice, in whole segments of Gloo's ring.
  EXPECT_NEAR(static_cast<double>(verification.sentBytes) / (101091 * 4 * 4 / 3.0), 1, 0.03);
}

// It narrows each number to half of its bytes before it sends: of the three buckets of the rebuilt
// layout, twelve times.
TEST(Verifier, MeasuresWhatAForecastOfTheHookAsksFor) {
  const Verification fp16 = verified({built("hooks/fp16.so"), "fp16", {}});
  EXPECT_THAT(fp16.problems, IsEmpty());
  EXPECT_EQ(fp16.elements, 101091u);
  EXPECT_EQ(fp16.gradientBytes, 4 * 101091u);
  EXPECT_NEAR(static_cast<double>(fp16.sentBytes) / (2 * 101091), 1, 0.03);
  ASSERT_EQ(fp16.calls.size(), 36u);
  EXPECT_EQ(fp16.calls[0].bytes, 4 * (33 * 65 + 1 + 384u));
  EXPECT_EQ(fp16.calls[1].bytes, 4 * (8 * 3 * 3 * 3 + 384 * 256u));
  double encodeMs = 0;
  double decodeMs = 0;
  for (const plugin::TimedCall& call : fp16.calls) {
    encodeMs += call.encodeMs;
    decodeMs += call.decodeMs;
  }
  EXPECT_GT(encodeMs, 0);
  EXPECT_GT(decodeMs, 0);
  EXPECT_LT(encodeMs + decodeMs, 12 * 1000) << "milliseconds, and not ticks";
  EXPECT_EQ(plugin::verificationFromJson(plugin::toJson(fp16)).value(), fp16);
}

struct Lie {
  const char* lie;
  const char* sentence;
};

class ALie : public testing::TestWithParam<Lie> {};

TEST_P(ALie, IsASentence) {
  EXPECT_THAT(withLie(GetParam().lie).problems, ElementsAre(HasSubstr(GetParam().sentence)));
}

INSTANTIATE_TEST_SUITE_P(
    Lies, ALie,
    testing::Values(
        Lie{"same",
            "hook 'lying', rank 1: bucket 2 of step 3: its result is not that of rank 0, "
            "and it says that all ranks end with the same"},
        Lie{"parameters",
            "hook 'lying', rank 1: parameter 0: after the end of the run it is not "
            "that of rank 0, and the hook says that all ranks end with the same"},
        Lie{"state",
            "hook 'lying', rank 0: bucket 2 of step 110: a new hook that was loaded with "
            "the state of step 109 gives another result than the one that went on"},
        Lie{"finite", "hook 'lying', rank 1: bucket 2 of step 3: its result is not finite"},
        Lie{"order", ": bucket 2 of step 3: "},
        Lie{"save_throws",
            "hook 'lying', rank 0: after step 109: saving its state: it has "
            "forgotten how"}),
    [](const auto& info) { return info.param.lie; });

TEST(Verifier, TellsHowFarAResultIsOffTheMean) {
  const Verification verification = withLie("mean");
  ASSERT_THAT(verification.problems,
              ElementsAre(HasSubstr(
                  " away from the mean, in units of the mean's root mean square, and it promises "
                  "1e-06")));
  EXPECT_THAT(verification.problems[0], HasSubstr(" of step 0: "));
  EXPECT_NEAR(verification.meanError, 0.014, 0.002);
}

TEST(Verifier, FindsAHistoryThatIsNotSaved) {
  EXPECT_THAT(verified({built("broken_hooks/lying.so"), "forgetful", {}}).problems,
              ElementsAre(HasSubstr("hook 'forgetful', rank 0: bucket 0 of step 110: a new hook "
                                    "gives another result than the one that had been trained "
                                    "with: it keeps something from step to step, and has no "
                                    "state to save")));
}

TEST(Verifier, DoesNotBlameTheStateOfAHookWhoseResultsDifferFromRunToRun) {
  const Verification verification = withLie("repeatable");
  EXPECT_THAT(verification.problems, IsEmpty());
  EXPECT_THAT(verification.notes, ElementsAre(HasSubstr("its results differ from run to run")));
}

TEST(Verifier, TakesARefusalOfTheWorldForWhatItIs) {
  EXPECT_EQ(withLie("unsupported", 2).refusal, "");
  const Verification verification = withLie("unsupported", 4);
  EXPECT_EQ(verification.refusal, "it knows two ranks at most");
  EXPECT_THAT(verification.problems, IsEmpty());
}

TEST(Verifier, TellsOfAHookWhatItDoesOnItsOwn) {
  const Verification zero = verified({built("hooks/zero_rs.so"), "zero_rs", {}});
  EXPECT_THAT(zero.problems, IsEmpty());
  EXPECT_TRUE(zero.ownsUpdate);
  EXPECT_FALSE(zero.gradientsSame);
  EXPECT_TRUE(zero.parametersSame);
  EXPECT_EQ(zero.optimizer, "sgd, momentum 0.9");
  const Verification adam = verified({built("hooks/onebit.so"), "onebit", {}});
  EXPECT_THAT(adam.problems, IsEmpty());
  EXPECT_EQ(adam.optimizer, "adam");
}

TEST(Verifier, NamesAHookOrLibraryThatIsNotThere) {
  EXPECT_THAT(verified({"/nowhere/at/all.so", "x", {}}).problems,
              ElementsAre("/nowhere/at/all.so: there is no such file"));
  EXPECT_THAT(verified({built("hooks/fp16.so"), "fp32", {}}).problems,
              ElementsAre(HasSubstr("has no hook 'fp32'")));
}

}  // namespace
}  // namespace lockstep::hooks

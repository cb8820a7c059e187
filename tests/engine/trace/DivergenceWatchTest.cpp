#include "engine/trace/DivergenceWatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/engine/trace/Recording.h"

namespace lockstep::trace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ParametersMessage twoParameters() {
  return {{{"a", {1}, "float32", 1, 4}, {"b", {1}, "float32", 1, 4}}};
}

FingerprintMessage healthy(std::uint32_t step, std::uint64_t hashOfB = 2) {
  return {step, {1, hashOfB}, {1, 1}, {}};
}

/// A loss that was lost right after `before`, as low as it ever was.
BadLossMessage suddenly(std::uint32_t step, double before = 0.5) {
  return {step, kNan, before, before, step};
}

BadLossMessage grown(std::uint32_t step) {
  return {step, kNan, 1e6, 0.5, step};
}

/// Rank 0 of a gradient with a NaN in the second parameter.
GradientsMessage withNan(std::uint32_t step) {
  return {step, {{0, 1, 1, 3, 0, 1}}};
}

std::vector<std::string> textsOf(const std::vector<ProblemRow>& problems) {
  std::vector<std::string> texts;
  for (const ProblemRow& problem : problems) {
    texts.push_back(problem.text);
  }
  return texts;
}

class DivergenceWatchTest : public testing::Test {
 protected:
  DivergenceWatchTest() { watch_.setNames(twoParameters()); }

  /// What both ranks sample; the second parameter of rank 1 has `hash`.
  void sample(std::uint32_t step, std::uint64_t hash = 2) {
    watch_.take(0, healthy(step));
    watch_.take(1, healthy(step, hash));
  }

  DivergenceWatch watch_{2};
};

TEST_F(DivergenceWatchTest, AHealthyRunHasNotDiverged) {
  sample(0);
  sample(10);
  watch_.take(0, EvaluationMessage{9, 0.5, kNan, 100});
  watch_.take(0, SummaryMessage{10, 0.5, "aa"});
  watch_.take(1, SummaryMessage{10, 0.25, "aa"});
  EXPECT_FALSE(watch_.first().has_value());
  EXPECT_THAT(watch_.takeProblems(), IsEmpty());
}

TEST_F(DivergenceWatchTest, ReplicasThatDifferAreNamedWithStepRankAndParameter) {
  sample(10);
  sample(20, 9);
  const RunDivergence first = watch_.first().value();
  EXPECT_EQ(first.step, 20U);
  EXPECT_EQ(first.rank, 1);
  EXPECT_EQ(first.parameter, "b");
  EXPECT_THAT(first.text, HasSubstr("the replicas differ at step 20: b of rank 1"));
  EXPECT_THAT(watch_.takeProblems(), SizeIs(1));
  sample(30, 9);
  EXPECT_THAT(watch_.takeProblems(), IsEmpty()) << "said once";
}

TEST_F(DivergenceWatchTest, ReplicasThatDriftByDesignMayDiffer) {
  watch_.letDrift();
  sample(10, 9);
  watch_.take(0, SummaryMessage{10, 0.5, "aa"});
  watch_.take(1, SummaryMessage{10, 0.5, "bb"});
  EXPECT_FALSE(watch_.first().has_value());
  watch_.take(1, suddenly(12));
  EXPECT_EQ(watch_.first().value().step, 12U) << "but its losses are to be numbers";
}

TEST_F(DivergenceWatchTest, AGradientIsWhereItBeganAndNoDivergenceByItself) {
  watch_.take(0, withNan(60));
  EXPECT_FALSE(watch_.first().has_value());
  watch_.take(0, suddenly(61));
  watch_.take(1, suddenly(61));
  const RunDivergence first = watch_.first().value();
  EXPECT_EQ(first.step, 60U);
  EXPECT_EQ(first.parameter, "b");
  EXPECT_EQ(first.text,
            "the gradient of b of rank 0 holds NaN at step 60, before it was averaged; the loss of "
            "rank 0 is NaN at step 61, after 0.5");
}

TEST_F(DivergenceWatchTest, OfOneStepTheSampleComesBeforeTheLoss) {
  watch_.take(1, suddenly(20));
  sample(20, 9);
  EXPECT_THAT(watch_.first().value().text,
              HasSubstr("the replicas differ at step 20: b of rank 1 is not what rank 0 holds; "
                        "either may be wrong; the loss of rank 1 is NaN at step 20"));
}

TEST_F(DivergenceWatchTest, EqualReplicasOfNoNumbersHaveDiverged) {
  const FingerprintMessage lost{30, {7, 7}, {1, kNan}, {}};
  watch_.take(0, lost);
  watch_.take(1, lost);
  const RunDivergence first = watch_.first().value();
  EXPECT_EQ(first.parameter, "b");
  EXPECT_EQ(first.text, "b of rank 0 holds numbers that are not finite at step 30");
}

TEST_F(DivergenceWatchTest, AnEvaluationWithoutALossHasDiverged) {
  watch_.take(0, EvaluationMessage{99, kNan, 0.1, 100});
  EXPECT_EQ(watch_.first().value().text, "the loss of the evaluation after step 99 is NaN");
}

TEST_F(DivergenceWatchTest, HashesOfTheEndTellWhereNothingWasSampled) {
  watch_.take(0, SummaryMessage{10, 0.5, "aa"});
  EXPECT_FALSE(watch_.first().has_value()) << "rank 1 may say the same";
  watch_.take(1, SummaryMessage{10, 0.5, "bb"});
  EXPECT_EQ(watch_.first().value().rank, 1);
  EXPECT_EQ(watch_.first().value().step, 10U);
}

TEST_F(DivergenceWatchTest, HashesMayDifferWhereParametersAreIgnored) {
  watch_.ignoreHashes();
  watch_.take(0, SummaryMessage{10, 0.5, "aa"});
  watch_.take(1, SummaryMessage{10, 0.5, "bb"});
  EXPECT_FALSE(watch_.first().has_value());
}

TEST_F(DivergenceWatchTest, TheLearningRateIsBlamedWhereTheLossGrewOnEveryRank) {
  watch_.take(0, grown(40));
  EXPECT_THAT(textsOf(watch_.takeProblems()), Not(Contains(HasSubstr("learning_rate"))));
  watch_.take(1, grown(40));
  EXPECT_THAT(textsOf(watch_.takeProblems()),
              Contains("the loss of rank 0 grew from 0.5 to 1e+06 before it was lost: lower "
                       "optimizer.learning_rate"));
}

TEST_F(DivergenceWatchTest, TheLearningRateIsBlamedForALossThatTheFirstUpdateLost) {
  watch_.take(0, suddenly(1));
  watch_.take(1, suddenly(1));
  EXPECT_THAT(textsOf(watch_.takeProblems()),
              Contains("the first update of the parameters lost the loss: lower "
                       "optimizer.learning_rate, if its gradients were finite "
                       "(capture.gradient_check_every = 1 tells)"));
}

TEST_F(DivergenceWatchTest, TheLearningRateIsBlamedAloneWhereTheGradientsWereSeenToBeFinite) {
  for (int rank = 0; rank < 2; ++rank) {
    watch_.take(rank, GradientsMessage{0, {{0, 1, 1, 0, 0, {}}}});
    watch_.take(rank, suddenly(1));
  }
  EXPECT_THAT(textsOf(watch_.takeProblems()),
              Contains("the first update of the parameters lost the loss: lower "
                       "optimizer.learning_rate"));
}

TEST_F(DivergenceWatchTest, TheLearningRateIsNotBlamedForWhatBreaksDownAtOnce) {
  watch_.take(0, suddenly(40));
  watch_.take(1, suddenly(40));
  EXPECT_THAT(textsOf(watch_.takeProblems()), Not(Contains(HasSubstr("learning_rate"))));
}

TEST_F(DivergenceWatchTest, TheLearningRateIsNotBlamedWhereReplicasDiffer) {
  sample(30, 9);
  watch_.take(0, grown(40));
  watch_.take(1, grown(40));
  EXPECT_THAT(textsOf(watch_.takeProblems()), Not(Contains(HasSubstr("learning_rate"))));
}

TEST(DivergedRecording, ARunThatWentToItsEndEndsAsDiverged) {
  Recording recording(1);
  recording.rank(0).send(toJson(suddenly(7)));
  ASSERT_TRUE(recording.waitUntil([](const RunUpdate& update) {
    return update.info && update.info->divergence && update.info->state == RunState::kRunning;
  })) << "a live reader is told before the end";
  recording->updateInfo([](RunInfo& info) { info.state = RunState::kFinished; });
  const RunUpdate run = recording.finish();
  EXPECT_EQ(run.info->state, RunState::kDiverged);
  EXPECT_EQ(run.info->exitCode, 8);
  EXPECT_EQ(run.info->failure, "the loss of rank 0 is NaN at step 7, after 0.5");
  EXPECT_EQ(recording->info().state, RunState::kDiverged);
  EXPECT_TRUE(recording->progress().diverged);
}

TEST(DivergedRecording, ARunThatFailedKeepsItsFailure) {
  Recording recording(1);
  recording.rank(0).send(toJson(suddenly(7)));
  recording->updateInfo([](RunInfo& info) {
    info.state = RunState::kFailed;
    info.failure = "rank 0 was killed";
  });
  const RunUpdate run = recording.finish();
  EXPECT_EQ(run.info->state, RunState::kFailed);
  EXPECT_EQ(run.info->failure, "rank 0 was killed");
  EXPECT_TRUE(run.info->divergence.has_value());
}

TEST(DivergedRecording, AHookThatDriftsIsKeptInTheFile) {
  Recording recording(2);
  recording.rank(0).send(toJson(EnvironmentMessage{{{kDriftingHook, "gossip"}}}));
  for (int rank = 0; rank < 2; ++rank) {
    recording.rank(rank).send(toJson(healthy(10, static_cast<std::uint64_t>(rank))));
  }
  recording->updateInfo([](RunInfo& info) { info.state = RunState::kFinished; });
  const RunUpdate run = recording.finish();
  EXPECT_EQ(run.info->state, RunState::kFinished);
  EXPECT_EQ(run.info->driftingHook, "gossip");
  EXPECT_THAT(run.problems, IsEmpty());
}

}  // namespace
}  // namespace lockstep::trace

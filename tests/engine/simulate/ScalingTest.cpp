#include "engine/simulate/Scaling.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/engine/simulate/JitteredRun.h"

namespace lockstep::simulate {
namespace {

using cost::test::SleepingRun;
using test::jittered;
using test::onRingOf;
using test::stepOf;
using testing::HasSubstr;

ScalingQuestion questionOf(const std::vector<cost::StepRecord>& steps, const SleepingRun& run,
                           std::vector<int> ranks) {
  ScalingQuestion question;
  question.run = {steps, cost::KnownTransfer{run.nsPerByte, run.latencyNs}, 1, {}};
  // A ring of 2 has 2 hops, and moves each byte once.
  cost::LinkOptions link;
  link.link = {8 / run.nsPerByte, run.latencyNs / 2000};
  question.settings = link;
  question.ranks = std::move(ranks);
  question.algorithm = Algorithm::kRing;
  return question;
}

std::vector<RanksForecast> told(ScalingQuestion question) {
  const auto made = Scaling::make(std::move(question));
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? made.value().forecast() : std::vector<RanksForecast>();
}

std::string whyNot(ScalingQuestion question) {
  const auto made = Scaling::make(std::move(question));
  return made.ok() ? "it can" : made.error().what;
}

TEST(Scaling, ItsIntervalsHoldWhatMoreRanksMeasure) {
  SleepingRun run;
  run.nsPerByte = 6;
  run.noise = 0.05;
  int within = 0;
  int all = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const RanksForecast& of :
         told(questionOf(jittered(run, 2, 62, 6e6, seed), run, {4, 8, 32}))) {
      const double truth = stepOf(jittered(
          onRingOf(run, of.ranks), static_cast<std::size_t>(of.ranks), 62, 6e6, 100 + seed));
      EXPECT_NEAR(of.stepNs.value, truth, 0.08 * truth) << of.ranks;
      within += of.stepNs.low <= truth && truth <= of.stepNs.high ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(within, all * 9 / 10) << within << " of " << all;
}

TEST(Scaling, MeasuredAndSimulatedAgreeOnTheRecordedRanks) {
  SleepingRun run;
  run.nsPerByte = 6;
  const SleepingRun ring = onRingOf(run, 4);
  ScalingQuestion question = questionOf(jittered(ring, 4, 40, 6e6, 1), run, {8});
  question.run.known = cost::KnownTransfer{ring.nsPerByte, ring.latencyNs};
  const auto made = Scaling::make(std::move(question));
  ASSERT_TRUE(made.ok()) << made.error().message();
  const double measured = made.value().measured().stepNs.value;
  EXPECT_NEAR(made.value().simulated().stepNs.value, measured, 0.03 * measured);
  EXPECT_NEAR(made.value().simulated().efficiency.value, made.value().measured().efficiency.value,
              0.03);
}

TEST(Scaling, SaysWhatBindsAStep) {
  SleepingRun run;
  run.latencyNs = 1000;
  run.nsPerByte = 0.1;
  const auto bound = [](const SleepingRun& of, double jitterNs) {
    return told(questionOf(jittered(of, 2, 40, jitterNs, 1), of, {64})).front().bound;
  };
  EXPECT_EQ(bound(run, 100), Bound::kOwnWork);
  EXPECT_EQ(bound(run, 12e6), Bound::kStragglers);
  SleepingRun narrow = run;
  narrow.nsPerByte = 20;
  EXPECT_EQ(bound(narrow, 100), Bound::kBandwidth);
  SleepingRun far = run;
  far.latencyNs = 2e5;
  EXPECT_EQ(bound(far, 100), Bound::kLatency);
}

TEST(Scaling, AnotherLinkBetweenNodesIsTaken) {
  SleepingRun run;
  run.nsPerByte = 1;
  auto question = questionOf(run.steps(20), run, {16});
  const double own = told(question).front().stepNs.value;
  question.link = LinkCost{run.latencyNs / 2, 40};
  EXPECT_GT(told(question).front().stepNs.value, 1.5 * own);
  question.link = LinkCost{0, 0.01};
  EXPECT_LT(told(question).front().stepNs.value, own);
}

TEST(Scaling, AnotherHookIsTakenWhereAllOfItIsKnown) {
  SleepingRun run;
  run.nsPerByte = 4;
  auto question = questionOf(run.steps(20), run, {32});
  question.share = 1;
  const double own = told(question).front().stepNs.value;
  cost::HookWork hook;
  hook.share = 0.25;
  question.hook = hook;
  const double quarter = told(question).front().stepNs.value;
  SleepingRun narrow = run;
  narrow.nsPerByte = 1;
  EXPECT_NEAR(quarter, told(questionOf(narrow.steps(20), narrow, {32})).front().stepNs.value, 1e4);
  question.hook->encode.latencyNs = 3e6;
  question.hook->decode.latencyNs = 2e6;
  question.hook->aroundStepNs = 1e6;
  const double working = told(question).front().stepNs.value;
  EXPECT_GE(working, quarter + 5e6) << "the first is encoded, the last decoded, and what is around";
  EXPECT_LT(working, own + 20e6);
  question.hook->share.reset();
  EXPECT_THAT(whyNot(question),
              HasSubstr("that hook makes more of a bucket than one allreduce of always the same "
                        "part, and what that takes among more ranks is not known"));
  question.hook->share = 0.25;
  question.share.reset();
  EXPECT_THAT(whyNot(question), HasSubstr("its own hook makes more of a bucket than one"));
  question.share = 1;
  question.run.hook.reset();
  EXPECT_THAT(whyNot(question), HasSubstr("its own hook works on each bucket, and what that takes "
                                          "by itself is not known"));
}

// Without settings the latency of 2 ranks may be one of hops or of each transfer: 16 ranks in a
// ring have 15 times the hops.
TEST(Scaling, ALatencyThatNoSettingsTellWidensTheInterval) {
  SleepingRun run;
  run.nsPerByte = 1;
  run.latencyNs = 1e6;
  auto question = questionOf(run.steps(20), run, {16});
  question.settings.reset();
  question.run.known.reset();
  question.run.probes = {{1000, 1e6 + 1000, false}, {1'000'000, 2e6, false}};
  const RanksForecast of = told(question).front();
  const double hops = stepOf(onRingOf(run, 16).steps(3));
  const double none = stepOf(run.steps(3));
  EXPECT_NEAR(of.stepNs.value, hops, 0.05 * hops);
  EXPECT_LT(of.stepNs.low, (hops + none) / 2);
}

TEST(Scaling, MarksWhatIsExtrapolated) {
  const SleepingRun run;
  const auto rows = told(questionOf(jittered(run, 2, 40, 5e6, 1), run, {2, 4, 80, 81}));
  EXPECT_FALSE(rows[0].extrapolated);
  EXPECT_TRUE(rows[1].extrapolated);
  EXPECT_FALSE(rows[2].beyondSample);
  EXPECT_TRUE(rows[3].beyondSample);
}

TEST(Scaling, FewStepsCannotTell) {
  const SleepingRun run;
  EXPECT_THAT(whyNot(questionOf(run.steps(7), run, {4})),
              HasSubstr("only 7 of its steps with these buckets were recorded whole by all ranks, "
                        "and 8 are needed to tell how its ranks vary"));
}

// Rank 0 is late in 6 of 21 steps and rank 1 in 5 others, so that more than half of the steps are
// late. Ranks that are late by themselves are so in the same step now and then.
TEST(Scaling, RanksThatTakeTurnsAreRefused) {
  std::mt19937_64 random(1);
  std::vector<cost::StepRecord> steps;
  for (std::uint32_t number = 0; number < 21; ++number) {
    SleepingRun run;
    run.lateNs = {number % 4 == 0 ? 60e6 : 0, number % 4 == 2 ? 60e6 : 0};
    steps.push_back(run.step(number, random));
  }
  EXPECT_THAT(whyNot(questionOf(steps, SleepingRun(), {4})),
              HasSubstr("a simulation of its own ranks misses what was measured: steps of "));
}

RanksForecast row(int ranks, double value, double low, double high) {
  RanksForecast of;
  of.ranks = ranks;
  of.efficiency = {value, low, high};
  of.bound = Bound::kLatency;
  return of;
}

TEST(BreakingPoint, LiesBetweenTwoRowsByTheLogarithm) {
  const std::vector<RanksForecast> rows{row(8, 0.9, 0.85, 0.95), row(32, 0.7, 0.65, 0.9)};
  const BreakingPoint point = breakingPoint(rows, 0.8);
  EXPECT_NEAR(*point.ranks, 16, 1e-9);
  EXPECT_NEAR(*point.low, 8 * std::pow(4, 0.25), 1e-9);
  EXPECT_FALSE(point.high);
  EXPECT_EQ(point.bound, Bound::kLatency);
}

TEST(BreakingPoint, IsTheFirstRowWhereThatIsBelowAlreadyAndNoneWhereNoneIs) {
  EXPECT_EQ(breakingPoint({row(8, 0.6, 0.5, 0.7)}, 0.8).ranks, 8);
  EXPECT_FALSE(breakingPoint({row(8, 0.9, 0.85, 0.95)}, 0.8).ranks);
}

}  // namespace
}  // namespace lockstep::simulate

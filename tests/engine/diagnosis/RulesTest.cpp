#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/diagnosis/Rule.h"
#include "engine/diagnosis/rules/Judges.h"
#include "engine/trace/Event.h"
#include "tests/engine/diagnosis/MadeEvidence.h"

namespace lockstep::diagnosis {
namespace {

using test::addSpan;
using test::healthy;
using test::only;
using test::said;
using test::withParameters;

TEST(RulesTest, EachHasANameOfItsOwnAndSaysWhatItLooksAt) {
  std::set<std::string_view> names;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.looksAt.empty()) << rule.name;
    EXPECT_FALSE(rule.threshold.empty()) << rule.name;
    EXPECT_FALSE(rule.remedy.empty()) << rule.name;
  }
}

TEST(RulesTest, FindNothingInAHealthyRun) {
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(rule.judge(healthy()).empty()) << rule.name;
  }
}

/// Rank 1 is 20 ms later than rank 0.
Evidence late() {
  Evidence evidence = withParameters();
  evidence.run.lateness = {{0, -20, {}, false}, {1, 20, cost::MeanInterval{20, 19, 21}, true}};
  return evidence;
}

constexpr const char* kLate =
    "rank 1 is late | Rank 1 comes 20.00 ms a step (19.00 to 21.00) later to its collectives than "
    "the others, who wait for it";

TEST(LateRankTest, NamesThePartOfItsWorkThatTakesLonger) {
  Evidence evidence = late();
  for (const std::uint32_t step : evidence.work[1].steps()) {
    evidence.work[1].set(step, {WorkPart::Kind::kForward, 0}, 50);
  }
  const Finding finding = only(judgeLateRank(evidence));
  EXPECT_EQ(finding.place.rank, 1);
  EXPECT_EQ(finding.place.phase, "forward");
  EXPECT_EQ(said(finding),
            std::string(kLate) +
                ". It loses 20.00 ms in its forward. | Look at what rank 1 computes in the forward "
                "that the others do not: longer samples, a slower device, another program on its "
                "cores.");
  // No steps were recorded whole that could be replayed.
  ASSERT_TRUE(finding.savingMs);
  EXPECT_TRUE(finding.atMost);
  EXPECT_EQ(finding.savingMs->mean, 20);
  for (const std::uint32_t step : evidence.work[1].steps()) {
    evidence.work[1].set(step, {WorkPart::Kind::kForward, 0}, 51);
  }
  EXPECT_EQ(only(judgeLateRank(evidence)).savingMs->mean, 21)
      << "the others come late, too, after they waited";
}

TEST(LateRankTest, NamesTheGradientOrTheWholeBackward) {
  Evidence evidence = late();
  for (RankWork& rank : evidence.work) {
    for (const std::uint32_t step : rank.steps()) {
      rank.set(step, {WorkPart::Kind::kGradient, 0}, 5);
      rank.set(step, {WorkPart::Kind::kGradient, 1}, rank.rank() == 1 ? 25 : 5);
    }
  }
  evidence.work[1].set(8, {WorkPart::Kind::kGradient, 1}, 24);
  evidence.work[1].set(9, {WorkPart::Kind::kGradient, 1}, 26);
  evidence.data.layouts.emplace_back().buckets.resize(5);
  evidence.data.layouts.back().buckets[4].parameters = {0, 1};
  const Finding one = only(judgeLateRank(evidence));
  EXPECT_EQ(one.place.parameter, 1u);
  EXPECT_EQ(one.place.bucket, 4);
  EXPECT_EQ(one.place.step, 9u) << "where it loses most";
  EXPECT_EQ(said(one), std::string(kLate) +
                           ". It loses 20.00 ms before the gradient of layers.1.weight. | Look at "
                           "what rank 1 does there and the others do not.");
  for (const std::uint32_t step : evidence.work[1].steps()) {
    evidence.work[1].set(step, {WorkPart::Kind::kGradient, 0}, 15);
    evidence.work[1].set(step, {WorkPart::Kind::kGradient, 1}, 15);
  }
  const Finding all = only(judgeLateRank(evidence));
  EXPECT_FALSE(all.place.parameter);
  EXPECT_EQ(said(all),
            std::string(kLate) +
                ". It loses 20.00 ms in its backward. | Rank 1 computes more slowly "
                "throughout: a slower device or clock, longer samples, another program on "
                "its cores.");
}

TEST(LateRankTest, NamesItsOptimizer) {
  Evidence evidence = late();
  for (RankWork& rank : evidence.work) {
    for (const std::uint32_t step : rank.steps()) {
      rank.set(step, {WorkPart::Kind::kOptimizer, 0}, rank.rank() == 1 ? 22 : 2);
    }
  }
  EXPECT_EQ(
      said(only(judgeLateRank(evidence))),
      std::string(kLate) +
          ". It loses 20.00 ms in its optimizer. | Look at rank 1's optimizer: state that only "
          "it has, or a slower device.");
}

TEST(LateRankTest, SaysSoWhereNoPartOfItsWorkExplainsIt) {
  const Finding finding = only(judgeLateRank(late()));
  EXPECT_TRUE(finding.place.phase.empty());
  EXPECT_EQ(
      said(finding),
      std::string(kLate) +
          "; no part of its work that was recorded takes so much longer than theirs. | Look at "
          "rank 1's lanes beside another's in a step: its time goes where no phase was "
          "recorded.");
}

/// Ranks 8 to 15 are on host b, of which `slow` are 12 ms later than the others, by their forward.
Evidence onTwoHosts(const std::vector<int>& slow) {
  Evidence evidence = healthy();
  const RankWork work = evidence.work.front();
  evidence.work.clear();
  evidence.hosts = {{{0, "a", "", "tsc"}, {}}, {{1, "b", "", "tsc"}, {}}};
  for (int rank = 0; rank < 16; ++rank) {
    trace::RankInfo& info = evidence.ranks.emplace_back();
    info.rank = rank;
    info.host = rank / 8;
    RankWork& own = evidence.work.emplace_back(rank);
    for (const std::uint32_t step : work.steps()) {
      for (const WorkPart& part : work.parts()) {
        own.set(step, part, *work.ms(step, part));
      }
    }
    if (std::find(slow.begin(), slow.end(), rank) == slow.end()) {
      evidence.run.lateness.push_back({rank, -12, {}, false});
      continue;
    }
    evidence.run.lateness.push_back({rank, 12, cost::MeanInterval{12, 11, 13}, true});
    for (const std::uint32_t step : work.steps()) {
      own.set(step, {WorkPart::Kind::kForward, 0}, 42);
    }
  }
  return evidence;
}

TEST(LateRankTest, NamesTheHostWhereMostOfItsRanksAreLate) {
  const Finding finding = only(judgeLateRank(onTwoHosts({8, 9, 10, 11, 12, 13, 15})));
  EXPECT_EQ(said(finding),
            "host b is late | Host b: ranks 8-13, 15 (7 of its 8 ranks) come 12.00 ms a step "
            "(11.00 to 13.00) later to their collectives than the others, who wait for them. They "
            "lose 12.00 ms in their forward. | Look at what host b has that the others have not: "
            "slower devices or clocks, another program on its cores, its disk, its network.");
  EXPECT_EQ(finding.place.rank, 8);
  EXPECT_EQ(finding.place.phase, "forward");
  ASSERT_TRUE(finding.savingMs);
  EXPECT_TRUE(finding.atMost);
  EXPECT_EQ(finding.savingMs->mean, 12) << "that of the rank which loses most, and not of all";
}

TEST(LateRankTest, SaysOfAHostWhereNoPartOfTheWorkExplainsIt) {
  Evidence evidence = onTwoHosts({8, 9, 10, 11, 12, 13, 14, 15});
  for (RankWork& rank : evidence.work) {
    for (const std::uint32_t step : rank.steps()) {
      const WorkPart forward{WorkPart::Kind::kForward, 0};
      rank.set(step, forward, *evidence.work.front().ms(step, forward));
    }
  }
  const Finding finding = only(judgeLateRank(evidence));
  EXPECT_EQ(finding.sentence,
            "Host b: ranks 8-15 (all its 8 ranks) come 12.00 ms a step (11.00 to 13.00) later "
            "to their collectives than the others, who wait for them; no part of their work that "
            "was recorded takes so much longer.");
  EXPECT_TRUE(finding.place.phase.empty());
}

TEST(LateRankTest, NamesTheRanksWhereFewOfAHostAreLate) {
  const std::vector<Finding> findings = judgeLateRank(onTwoHosts({8, 12}));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].title, "rank 8 is late");
  EXPECT_EQ(findings[1].title, "rank 12 is late");
}

TEST(LateRankTest, NamesThePeriodInWhichItIsLate) {
  Evidence evidence = late();
  for (const std::uint32_t step : evidence.work[1].steps()) {
    evidence.work[1].set(step, {WorkPart::Kind::kData, 0}, step % 5 == 0 ? 101 : 1);
  }
  EXPECT_EQ(
      said(only(judgeLateRank(evidence))),
      std::string(kLate) +
          ". It loses 20.00 ms in its data, in every 5th step (step 5 is one). | Give rank 1 as "
          "much or as quick data as the others: look at its shard, its disk and how its "
          "batches are made.");
}

TEST(FewCoresTest, SpeaksOfAllRanksOrOfTheOneThatHasNone) {
  Evidence evidence = healthy();
  for (analysis::StepOverlap& step : evidence.steps) {
    step.times.coreWaitMs = step.times.rank == 0 ? 25 : 20;
  }
  evidence.run.ranks[0].coreWaitMs = 25;
  evidence.run.ranks[1].coreWaitMs = 20;
  const Finding all = only(judgeCores(evidence));
  EXPECT_FALSE(all.place.rank);
  EXPECT_EQ(all.place.step, 1u) << "the first of the longest";
  EXPECT_EQ(
      said(all),
      "there are not enough cores | In each step a rank's step thread is ready to run and has "
      "no core for 25.00 ms (25.00 to 25.00) of 100.0 ms, whichever rank it is. What looks "
      "like late ranks and long transfers here is that, and the fault of no rank and no link. "
      "| Run fewer ranks on the machine, or give it more cores.");
  evidence.experiment->processes.worldSize = 8;
  EXPECT_EQ(only(judgeCores(evidence)).settings,
            (std::vector<Setting>{{"processes.world_size", "4"}}));
  evidence.experiment->processes.threadsPerRank = 2;
  EXPECT_EQ(only(judgeCores(evidence)).remedy,
            "Run each rank with fewer threads (processes.threads_per_rank is 2), or fewer ranks on "
            "the machine.");
  evidence.run.ranks[1].coreWaitMs = 2;
  const Finding one = only(judgeCores(evidence));
  EXPECT_EQ(one.title, "rank 0 has no core to itself");
  EXPECT_NE(one.sentence.find("of 100.0 ms, most of it on rank 0."), std::string::npos);
  EXPECT_EQ(one.remedy, "Something else runs on the cores of this rank: keep it off them.");
  EXPECT_EQ(one.place.rank, 0);
}

TEST(FewCoresTest, SpeaksOfNoRankWhereAHypervisorTookTheTime) {
  Evidence evidence = healthy();
  for (analysis::StepOverlap& step : evidence.steps) {
    step.times.stolenMs = 20;
  }
  const Finding finding = only(judgeCores(evidence));
  EXPECT_EQ(finding.title, "there are not enough cores");
  EXPECT_FALSE(finding.place.rank);
}

TEST(FewCoresTest, CountsNoStepInWhichEventsWereDropped) {
  Evidence evidence = healthy();
  for (analysis::StepOverlap& step : evidence.steps) {
    step.times.coreWaitMs = 40;
    step.times.incomplete = true;
  }
  EXPECT_TRUE(judgeCores(evidence).empty());
}

TEST(DataTest, CountsWhatEveryRankTakes) {
  Evidence evidence = healthy();
  for (const std::uint32_t step : evidence.work[0].steps()) {
    evidence.work[0].set(step, {WorkPart::Kind::kData, 0}, 40);
  }
  EXPECT_TRUE(judgeData(evidence).empty()) << "of one rank alone it is that rank's lateness";
  for (const std::uint32_t step : evidence.work[1].steps()) {
    evidence.work[1].set(step, {WorkPart::Kind::kData, 0}, 30);
  }
  const Finding finding = only(judgeData(evidence));
  EXPECT_EQ(finding.savingMs->mean, 30);
  EXPECT_TRUE(finding.atMost);
  EXPECT_EQ(
      said(finding),
      "making batches takes long | Every rank takes 30.00 ms a step (30.00 to 30.00) of 100.0 "
      "ms to make its batch, and nothing else goes on meanwhile. | Make the next batch while "
      "this one is trained on: workers of a data loader, prefetching.");
}

/// Each step copies for 4 ms into a bucket, waits for it, and copies back for 2 ms, on both ranks.
Evidence copying(std::uint64_t waitTicks) {
  Evidence evidence = healthy();
  for (std::uint32_t step = 1; step <= 20; ++step) {
    for (const std::int32_t track : {0, 10}) {
      const std::uint64_t begin = step * 100'000;
      addSpan(evidence, trace::EventKind::kCopyIn, step, begin, 4'000, track);
      addSpan(evidence, trace::EventKind::kWait, step, begin + 5'000, waitTicks, track);
      addSpan(evidence, trace::EventKind::kCopyOut, step, begin + 50'000, 2'000, track);
    }
  }
  return evidence;
}

TEST(CopiesTest, CostWhatNoWaitHidesAndOnlyWhereGradientsCouldBeViews) {
  Evidence evidence = copying(1'000);
  const Finding finding = only(judgeCopies(evidence));
  EXPECT_EQ(finding.weight, Weight::kNote);
  EXPECT_NEAR(finding.savingMs->mean, 5, 1e-9) << "the copies before a wait would lengthen it";
  EXPECT_TRUE(finding.atMost);
  EXPECT_EQ(finding.place.step, 1u);
  EXPECT_EQ(finding.settings, (std::vector<Setting>{{"ddp.gradient_as_bucket_view", "true"}}));
  EXPECT_EQ(said(finding),
            "gradients are copied into buckets and back | Copies that no wait hides take 5.00 ms a "
            "step (5.00 to 5.00) of 100.0 ms. | Set ddp.gradient_as_bucket_view = true.");
  EXPECT_TRUE(judgeCopies(copying(40'000)).empty()) << "2 ms are left, less than 3 %";
  evidence.stepMs = 1000;
  EXPECT_TRUE(judgeCopies(evidence).empty());
  evidence.stepMs = 100;
  evidence.experiment->ddp.reduceDtype = "bfloat16";
  EXPECT_TRUE(judgeCopies(evidence).empty()) << "gradients and buckets differ in dtype";
  evidence.experiment->ddp.reduceDtype = "none";
  evidence.experiment->ddp.gradientAsBucketView = true;
  EXPECT_TRUE(judgeCopies(evidence).empty()) << "what is left is the division";
  evidence.experiment.reset();
  EXPECT_TRUE(judgeCopies(evidence).empty()) << "nobody knows how its gradients lie";
}

TEST(SearchTest, IsNeedlessOnlyWhereItFoundNothing) {
  Evidence evidence = healthy();
  for (std::uint32_t step = 1; step <= 20; ++step) {
    addSpan(evidence, trace::EventKind::kSearchUnused, step, step * 100'000, 6'000, 0);
    addSpan(evidence, trace::EventKind::kSearchUnused, step, step * 100'000, 6'000, 10);
  }
  EXPECT_TRUE(judgeSearch(evidence).empty()) << "nobody asked for it";
  evidence.experiment->ddp.findUnusedParameters = true;
  const Finding finding = only(judgeSearch(evidence));
  EXPECT_EQ(finding.weight, Weight::kCost);
  EXPECT_NEAR(finding.savingMs->mean, 6, 1e-9);
  EXPECT_EQ(finding.settings, (std::vector<Setting>{{"ddp.find_unused_parameters", "false"}}));
  EXPECT_EQ(
      said(finding),
      "unused parameters are searched for, and there are none | Every step searches the graph "
      "for parameters that take no part, and asks the other ranks, for 6.00 ms (6.00 to 6.00); "
      "in 20 steps it found none. | Set ddp.find_unused_parameters = false.");
  evidence.stepMs = 1000;
  const Finding note = only(judgeSearch(evidence));
  EXPECT_EQ(note.weight, Weight::kNote);
  EXPECT_FALSE(note.savingMs) << "two runs differ by more";
  addSpan(evidence, trace::EventKind::kMarkedUnused, 7, 700'000, 0);
  EXPECT_TRUE(judgeSearch(evidence).empty());
}

/// Steps of 100 ms, 200 ms apart, with a break of 100 ms after every fifth.
Evidence withBreaks(trace::EventKind kind) {
  Evidence evidence = healthy();
  for (analysis::StepOverlap& step : evidence.steps) {
    step.times.startTicks = step.times.step * 200'000;
    step.times.endTicks = step.times.startTicks + 100'000;
  }
  for (const std::uint32_t step : {5u, 10u, 15u, 20u}) {
    addSpan(evidence, kind, step, step * 200'000 + 100'000, 100'000);
  }
  return evidence;
}

TEST(BetweenStepsTest, TellsTheShareAndThePeriod) {
  const Finding finding = only(judgeBetweenSteps(withBreaks(trace::EventKind::kEvaluate)));
  EXPECT_EQ(finding.savingMs->mean, 400 / 20.0);
  EXPECT_TRUE(finding.atMost);
  EXPECT_EQ(
      said(finding),
      "much time goes into evaluating | Rank 0 evaluated 4 times, every 5 steps: 400 ms of the "
      "3.90 s that its steps took from first to last. | Evaluate less often, or on fewer "
      "samples: train.evaluate_every.");
  EXPECT_EQ(
      said(only(judgeBetweenSteps(withBreaks(trace::EventKind::kCheckpoint)))),
      "much time goes into checkpoints | Rank 0 wrote checkpoints 4 times, every 5 steps: 400 "
      "ms of the 3.90 s that its steps took from first to last. | Write them less often: "
      "train.checkpoint_every.");
}

}  // namespace
}  // namespace lockstep::diagnosis

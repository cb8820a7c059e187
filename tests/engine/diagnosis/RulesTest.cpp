#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/cost/Probe.h"
#include "engine/diagnosis/Rule.h"
#include "engine/diagnosis/rules/Judges.h"
#include "engine/trace/Event.h"

namespace lockstep::diagnosis {
namespace {

/// A run of two ranks, 20 measured steps of 100 ms, in which nothing is the matter.
Evidence healthy() {
  Evidence evidence;
  evidence.info.worldSize = 2;
  evidence.info.state = trace::RunState::kFinished;
  evidence.experiment.emplace();
  evidence.data.clock.nsPerTick = 1000;
  evidence.data.tracks = {{0, 0, "step"}, {10, 1, "step"}};
  evidence.stepMs = 100;
  evidence.measuredSteps = 20;
  for (int rank = 0; rank < 2; ++rank) {
    RankWork& work = evidence.work.emplace_back();
    work.rank = rank;
    for (std::uint32_t step = 1; step <= 20; ++step) {
      work.steps[step] = {{{WorkPart::Kind::kData, 0}, 1}, {{WorkPart::Kind::kForward, 0}, 30}};
      analysis::StepOverlap& overlap = evidence.steps.emplace_back();
      overlap.times.rank = rank;
      overlap.times.step = step;
      overlap.times.stepMs = 100;
    }
    evidence.run.ranks.emplace_back().rank = rank;
  }
  return evidence;
}

void addSpan(Evidence& evidence, trace::EventKind kind, std::uint32_t step, std::uint64_t begin,
             std::uint64_t ticks, std::int32_t track = 0) {
  trace::SpanRow row;
  row.track = track;
  row.kind = kind;
  row.step = step;
  row.startTicks = begin;
  row.durationTicks = ticks;
  evidence.data.spans.push_back(row);
}

std::string said(const Finding& finding) {
  return finding.title + " | " + finding.sentence + " | " + finding.remedy;
}

Finding only(const std::vector<Finding>& findings) {
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings.front();
}

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

TEST(FailedTest, NamesTheRankThatEndedByItself) {
  Evidence evidence = healthy();
  evidence.info.state = trace::RunState::kFailed;
  evidence.info.failure = "rank 1 was ended by SIGKILL 3 ms into iteration 7";
  evidence.ranks.resize(2);
  evidence.ranks[0].lastWords = "rank 0 failed: lost the connection to rank 1";
  evidence.ranks[1].rank = 1;
  evidence.ranks[1].lastWords = "rank 1 was ended by SIGKILL 3 ms into iteration 7";
  const Finding finding = only(judgeFailed(evidence));
  EXPECT_EQ(finding.weight, Weight::kWrong);
  EXPECT_EQ(finding.place.rank, 1);
  EXPECT_EQ(said(finding),
            "the run failed | Rank 1 was ended by SIGKILL 3 ms into iteration 7. | ");
}

TEST(FailedTest, SaysSoWhereNobodySaidWhy) {
  Evidence evidence = healthy();
  evidence.info.state = trace::RunState::kRecorderDied;
  EXPECT_EQ(said(only(judgeFailed(evidence))), "the run's recorder is gone | Nobody said why. | ");
}

/// Rank 0 calls an allreduce, rank 1 a broadcast.
Evidence differingCalls() {
  Evidence evidence = healthy();
  for (int rank = 0; rank < 2; ++rank) {
    trace::SpanRow row;
    row.track = 10 * rank;
    row.kind = trace::EventKind::kCollective;
    row.step = 7;
    row.startTicks = 700'000;
    row.durationTicks = 1000;
    row.value = trace::packCollective(3, 400);
    row.detail = trace::packOperation(rank == 0 ? trace::Operation::kAllreduce
                                                : trace::Operation::kBroadcast);
    evidence.data.spans.push_back(row);
  }
  evidence.calls = analysis::callSequences(evidence.data, true);
  return evidence;
}

TEST(CallsDifferTest, TellsTheFirstCallThatDiffers) {
  const Finding finding = only(judgeCalls(differingCalls()));
  EXPECT_EQ(finding.weight, Weight::kWrong);
  EXPECT_EQ(finding.place.step, 7u);
  EXPECT_EQ(said(finding),
            "the ranks' calls differ: operation mismatch | Call 3 of group 0: Rank 0 called "
            "allreduce of 400 bytes; rank 1 called broadcast of 400 bytes. | Look at what ranks 0, "
            "1 do before this call that the "
            "others do not; processes.checked = \"always\" stops a run at the first such call.");
}

TEST(CallsDifferTest, LeavesOutWhatFollowsFromTheEndOfARank) {
  Evidence evidence = differingCalls();
  evidence.ranks.resize(2);
  evidence.ranks[1].rank = 1;
  evidence.ranks[1].signal = 9;
  EXPECT_TRUE(judgeCalls(evidence).empty());
}

/// The second of two parameters is layers.1.weight.
Evidence withParameters() {
  Evidence evidence = healthy();
  evidence.data.parameters.resize(2);
  evidence.data.parameters[0].name = "layers.0.weight";
  evidence.data.parameters[1].name = "layers.1.weight";
  return evidence;
}

TEST(NotFiniteTest, NamesRankStepAndParameterOfTheFirst) {
  Evidence evidence = withParameters();
  evidence.divergence.findings = {{20, 1, 0, 1, 4, 0}};
  const Finding finding = only(judgeNotFinite(evidence));
  EXPECT_EQ(finding.place.rank, 1);
  EXPECT_EQ(finding.place.step, 20u);
  EXPECT_EQ(
      said(finding),
      "rank 1's gradients are no numbers | In step 20 the gradient of layers.1.weight on rank "
      "1 held 4 NaN and 0 infinite values, before it was averaged: from then on every rank "
      "has them. | Look at rank 1's batch of step 20, at the learning rate and at the dtype "
      "of layers.1.weight.");
}

TEST(NotFiniteTest, OfALossAsksForACloserLook) {
  Evidence evidence = healthy();
  evidence.divergence.firstBadLoss = analysis::SanityFinding{12, 0, trace::kNoBucket, {}, 1, 0};
  const Finding finding = only(judgeNotFinite(evidence));
  EXPECT_EQ(
      said(finding),
      "rank 0's loss is no number | The loss of rank 0 is no finite number from step 12 on. | "
      "Check gradients in every step (capture.gradient_check_every = 1) to see in which "
      "parameter it begins.");
  EXPECT_EQ(finding.settings, (std::vector<Setting>{{"capture.gradient_check_every", "1"}}));
}

TEST(NotFiniteTest, OfAParameterNamesWhoHoldsItSo) {
  Evidence evidence = withParameters();
  evidence.divergence.lost = analysis::LostParameter{1, 20, 1, 0};
  EXPECT_EQ(
      said(only(judgeNotFinite(evidence))),
      "layers.1.weight holds values that are no numbers | In step 20 layers.1.weight of rank 0 "
      "held a value that is not finite. | Check gradients in every step "
      "(capture.gradient_check_every = 1) to see whose gradient brought it.");
}

TEST(ReplicasTest, AccusesARankOnlyAgainstAMajorityAndNoHookThatDrifts) {
  Evidence evidence = withParameters();
  evidence.divergence.first = analysis::FirstDifference{2, 20, 10, 1, 1, {1}, false};
  const Finding two = only(judgeReplicas(evidence));
  EXPECT_FALSE(two.place.rank);
  EXPECT_EQ(
      said(two),
      "replicas differ | Parameters differ between ranks after step 10, when all were equal: by "
      "step 20 1 parameter differs, that of layers.1.weight on rank 1 and the others, and "
      "none of them has a majority. | Look at what changed layers.1.weight between these "
      "steps: memory, an update of one rank alone, a hook that does not give all ranks the "
      "same.");
  evidence.divergence.first->majority = true;
  const Finding finding = only(judgeReplicas(evidence));
  EXPECT_EQ(finding.place.rank, 1);
  EXPECT_EQ(finding.place.parameter, 1u);
  EXPECT_NE(finding.sentence.find("on rank 1, against the majority."), std::string::npos);
  evidence.info.driftingHook = "gossip";
  EXPECT_TRUE(judgeReplicas(evidence).empty());
}

TEST(ReplicasTest, ThatNeverWereEqualWantTheSameStart) {
  Evidence evidence = withParameters();
  evidence.experiment->ddp.initSync = false;
  evidence.divergence.first = analysis::FirstDifference{0, 0, {}, 0, 2, {1}, false};
  const Finding finding = only(judgeReplicas(evidence));
  EXPECT_EQ(said(finding),
            "replicas differ | Parameters differ between ranks from the first look on: by step 0 2 "
            "parameters differ, the first of layers.0.weight on rank 1 and the others, and none of "
            "them has a majority. | Give all ranks the same start: ddp.init_sync = true sends rank "
            "0's parameters.");
  EXPECT_EQ(finding.settings, (std::vector<Setting>{{"ddp.init_sync", "true"}}));
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
  for (auto& [step, parts] : evidence.work[1].steps) {
    parts[{WorkPart::Kind::kForward, 0}] = 50;
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
}

TEST(LateRankTest, NamesTheGradientOrTheWholeBackward) {
  Evidence evidence = late();
  for (RankWork& rank : evidence.work) {
    for (auto& [step, parts] : rank.steps) {
      parts[{WorkPart::Kind::kGradient, 0}] = 5;
      parts[{WorkPart::Kind::kGradient, 1}] = rank.rank == 1 ? 25 : 5;
    }
  }
  evidence.work[1].steps[8][{WorkPart::Kind::kGradient, 1}] -= 1;
  evidence.work[1].steps[9][{WorkPart::Kind::kGradient, 1}] += 1;
  evidence.data.layouts.emplace_back().buckets.resize(5);
  evidence.data.layouts.back().buckets[4].parameters = {0, 1};
  const Finding one = only(judgeLateRank(evidence));
  EXPECT_EQ(one.place.parameter, 1u);
  EXPECT_EQ(one.place.bucket, 4);
  EXPECT_EQ(one.place.step, 9u) << "where it loses most";
  EXPECT_EQ(said(one), std::string(kLate) +
                           ". It loses 20.00 ms before the gradient of layers.1.weight. | Look at "
                           "what rank 1 does there and the others do not.");
  for (auto& [step, parts] : evidence.work[1].steps) {
    parts[{WorkPart::Kind::kGradient, 0}] = 15;
    parts[{WorkPart::Kind::kGradient, 1}] = 15;
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
    for (auto& [step, parts] : rank.steps) {
      parts[{WorkPart::Kind::kOptimizer, 0}] = rank.rank == 1 ? 22 : 2;
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

TEST(LateRankTest, NamesThePeriodInWhichItIsLate) {
  Evidence evidence = late();
  for (auto& [step, parts] : evidence.work[1].steps) {
    parts[{WorkPart::Kind::kData, 0}] = step % 5 == 0 ? 101 : 1;
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
      "no core for 25.00 ms (25.00 to 25.00) of 100.00 ms, whichever rank it is. What looks "
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
  EXPECT_NE(one.sentence.find("of 100.00 ms, most of it on rank 0."), std::string::npos);
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
  for (auto& [step, parts] : evidence.work[0].steps) {
    parts[{WorkPart::Kind::kData, 0}] = 40;
  }
  EXPECT_TRUE(judgeData(evidence).empty()) << "of one rank alone it is that rank's lateness";
  for (auto& [step, parts] : evidence.work[1].steps) {
    parts[{WorkPart::Kind::kData, 0}] = 30;
  }
  const Finding finding = only(judgeData(evidence));
  EXPECT_EQ(finding.savingMs->mean, 30);
  EXPECT_TRUE(finding.atMost);
  EXPECT_EQ(
      said(finding),
      "making batches takes long | Every rank takes 30.00 ms a step (30.00 to 30.00) of 100.00 "
      "ms to make its batch, and nothing else goes on meanwhile. | Make the next batch while "
      "this one is trained on: workers of a data loader, prefetching.");
}

/// Twelve steps of two ranks, eight gradients of 256 KiB that are ready 1 ms apart, each in a
/// bucket of its own, over a line that takes 3 ms and 1 ns a byte.
Evidence manySmallBuckets() {
  constexpr double kMs = 1e6;
  constexpr std::uint64_t kBytes = 256 * 1024;
  Evidence evidence = healthy();
  evidence.experiment->ddp.bucketCapMb = evidence.experiment->ddp.firstBucketMb = 0.01;
  analysis::RecordedSteps recorded;
  recorded.settings.experiment = *evidence.experiment;
  recorded.settings.worldSize = 2;
  recorded.layout.layout = 1;
  cost::RecordedRun run;
  run.known = cost::KnownTransfer{1, 3 * kMs};
  for (std::uint32_t parameter = 0; parameter < 8; ++parameter) {
    trace::ParametersMessage::Parameter& of = recorded.parameters.emplace_back();
    of.bytes = kBytes;
    of.dtype = "float32";
    trace::BucketsMessage::Bucket& bucket = recorded.layout.buckets.emplace_back();
    bucket.parameters = {7 - parameter};
    bucket.bytes = kBytes;
  }
  for (std::uint32_t number = 0; number < 12; ++number) {
    cost::StepRecord& step = run.steps.emplace_back();
    step.step = number;
    for (int rank = 0; rank < 2; ++rank) {
      cost::RankStep& of = step.ranks.emplace_back();
      of.rank = rank;
      of.lastGradientNs = of.waitsNs = 18 * kMs;
      of.computing = {{0, 18 * kMs}};
      for (int parameter = 0; parameter < 8; ++parameter) {
        of.filledNs.push_back((18 - parameter) * kMs);
      }
    }
    double free = 0;
    for (std::uint32_t parameter = 8; parameter-- > 0;) {
      const double ready = (18.0 - parameter) * kMs;
      free = std::max(free, ready) + 3 * kMs + static_cast<double>(kBytes);
      step.buckets.push_back(
          {{parameter}, kBytes, {2, cost::BucketPart{ready, ready, free, free, free}}});
    }
    step.ranks[0].endNs = step.ranks[1].endNs = free + kMs;
  }
  evidence.stepMs = run.steps[0].ranks[0].endNs / kMs;
  evidence.forecaster = cost::Forecaster::make(std::move(run));
  evidence.recorded = std::move(recorded);
  return evidence;
}

TEST(BucketsTest, OfALatencyEachWantALargerCap) {
  const Evidence evidence = manySmallBuckets();
  ASSERT_TRUE(evidence.forecaster.ok()) << evidence.forecaster.error().message();
  const Finding finding = only(judgeBuckets(evidence));
  EXPECT_GT(finding.savingMs->low, 0.03 * evidence.stepMs);
  EXPECT_FALSE(finding.atMost);
  EXPECT_EQ(finding.title, "buckets are too small");
  EXPECT_NE(finding.sentence.find("in place of 8, and take "), std::string::npos)
      << finding.sentence;
  EXPECT_NE(finding.sentence.find(": each bucket costs a latency, and a rank's own work."),
            std::string::npos);
  ASSERT_EQ(finding.settings.size(), 1u);
  EXPECT_EQ(finding.settings[0].key, "ddp.bucket_cap_mb");
  EXPECT_EQ(finding.remedy, "Set ddp.bucket_cap_mb = " + finding.settings[0].value + ".");
}

TEST(TransferTest, SpeaksOfALinkOrOfTheHostThatCarries) {
  Evidence evidence = healthy();
  analysis::TailReason reason;
  reason.mean.cause = analysis::TailCause::kSlowLink;
  reason.mean.telling = true;
  reason.mean.transferMs = 40;
  reason.mean.calls = 4;
  reason.worst = reason.mean;
  reason.worst.rank = 1;
  evidence.causes = {reason};
  const Finding link = only(judgeTransfer(evidence));
  EXPECT_EQ(link.title, "the link is slow");
  EXPECT_EQ(link.sentence, analysis::explanation(reason.mean));
  EXPECT_EQ(link.remedy,
            "Send fewer bytes or send them less often: a hook that compresses (hook.name), "
            "ddp.sync_every, a larger batch a rank, a faster link.");
  EXPECT_EQ(link.place.rank, 1);
  evidence.causes[0].mean.cause = analysis::TailCause::kMuchTransfer;
  EXPECT_EQ(only(judgeTransfer(evidence)).title, "communication takes long");
  evidence.causes[0].mean.telling = false;
  EXPECT_TRUE(judgeTransfer(evidence).empty());
}

TEST(HookCostsTest, SetsItsWorkAgainstAPlainAllreduceOfTheSameBuckets) {
  Evidence evidence = healthy();
  evidence.experiment->hook.name = "powersgd";
  // 1 ms and 1 ns a byte: two buckets of 1 and 3 MB take 6 ms.
  evidence.ranks.resize(1);
  evidence.ranks[0].environment["probe"] = cost::probeText({{1'000'000, 2e6}, {4'000'000, 5e6}});
  trace::BucketsMessage& layout = evidence.data.layouts.emplace_back();
  layout.buckets.resize(2);
  layout.buckets[0].bytes = 1'000'000;
  layout.buckets[1].bytes = 3'000'000;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    analysis::HookCall& call = evidence.hook.calls.emplace_back();
    call.step = step;
    call.ms[static_cast<std::size_t>(analysis::HookPhase::kEncode)] = 15;
    call.ms[static_cast<std::size_t>(analysis::HookPhase::kTransfer)] = 2;
  }
  const Finding finding = only(judgeHook(evidence));
  EXPECT_NEAR(finding.savingMs->mean, 11, 1e-6);
  EXPECT_EQ(
      said(finding),
      "the hook powersgd costs more than it saves | It works 15.00 ms a step and moves its "
      "data in 2.00 ms; plain allreduces of the same buckets would move theirs in 6.00 ms over "
      "this link. | Take the plain allreduce here: hook.name = \"allreduce\".");
  for (analysis::HookCall& call : evidence.hook.calls) {
    call.ms[static_cast<std::size_t>(analysis::HookPhase::kEncode)] = 3;
  }
  EXPECT_TRUE(judgeHook(evidence).empty()) << "it pays";
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
  EXPECT_EQ(only(judgeSearch(evidence)).weight, Weight::kNote);
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

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "engine/diagnosis/rules/Judges.h"
#include "tests/engine/diagnosis/MadeEvidence.h"

namespace lockstep::diagnosis {
namespace {

using test::healthy;
using test::only;
using test::said;
using test::withParameters;

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
  EXPECT_EQ(
      said(finding),
      "the run failed | Rank 1 was ended by SIGKILL 3 ms into iteration 7. | Look at what rank "
      "1 wrote last: the log has it.");
}

TEST(FailedTest, SendsToTheLogWhereNoRankEndedFirst) {
  Evidence evidence = healthy();
  evidence.info.state = trace::RunState::kFailed;
  evidence.info.failure = "the ranks did not meet";
  EXPECT_EQ(said(only(judgeFailed(evidence))),
            "the run failed | The ranks did not meet. | Look at what the ranks wrote last: the log "
            "has it.");
}

TEST(FailedTest, SaysSoWhereNobodySaidWhy) {
  Evidence evidence = healthy();
  evidence.info.state = trace::RunState::kRecorderDied;
  EXPECT_EQ(said(only(judgeFailed(evidence))),
            "the run's recorder is gone | Nobody said why. | Start it again for the rest: what was "
            "recorded so far is kept.");
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

/// What rank `rank` had in a bucket and got back for it.
void addReduced(Evidence& evidence, std::uint32_t step, int rank, std::uint16_t bucket, double norm,
                trace::GradientsMessage::Bucket::Reduced reduced, std::uint64_t nans = 0) {
  evidence.data.gradients.push_back(
      trace::GradientRow{0, rank, step, {bucket, norm, norm, nans, 0, {}, reduced}});
}

TEST(ReplicasTest, SaysWhichBucketTheHookGaveTheRanksDifferently) {
  Evidence evidence = withParameters();
  evidence.divergence.first = analysis::FirstDifference{2, 20, 10, 1, 1, {1}, false};
  for (int rank = 0; rank < 2; ++rank) {
    const auto own = static_cast<std::uint64_t>(rank);
    addReduced(evidence, 10, rank, 0, 1, {1, 100});
    addReduced(evidence, 10, rank, 1, 1, {1, 200 + own});
    addReduced(evidence, 10, rank, 2, 1, {1, 300 + own});
  }
  const Finding finding = only(judgeReplicas(evidence));
  EXPECT_EQ(finding.place.step, 10u);
  EXPECT_EQ(finding.place.bucket, 1);
  EXPECT_THAT(finding.sentence,
              testing::EndsWith(" Before that, in step 10, the hook gave rank 1 another bucket 1 "
                                "than rank 0."));
  EXPECT_EQ(finding.remedy,
            "Look at the hook: it has to give all ranks the same, by the same calls in the same "
            "order.");

  // What came when the parameters differed already is no cause of it.
  evidence.divergence.first->step = 10;
  EXPECT_THAT(only(judgeReplicas(evidence)).sentence, testing::Not(testing::HasSubstr("Before")));
}

/// A hook of the user's that sends two buckets of 1,000 bytes whole.
Evidence hooked(double before, double after, std::uint64_t nans = 0) {
  Evidence evidence = healthy();
  evidence.experiment->hook.name = "mine";
  evidence.data.layouts.emplace_back().buckets.resize(2);
  for (std::uint16_t bucket = 0; bucket < 2; ++bucket) {
    evidence.data.layouts.back().buckets[bucket].bytes = 1000;
    analysis::HookCall& call = evidence.hook.calls.emplace_back();
    call.bucket = bucket;
    call.payloadBytes = 1000;
    for (const std::uint32_t step : {0u, 10u, 20u}) {
      addReduced(evidence, step, 0, bucket, before, {after, {}}, step == 10 ? nans : 0);
      addReduced(evidence, step, 1, bucket, 3 * before, {after, {}});
    }
  }
  return evidence;
}

TEST(NoAverageTest, KnowsASumByItsLength) {
  const Finding finding = only(judgeAverage(hooked(1, 3)));
  EXPECT_EQ(finding.weight, Weight::kWrong);
  EXPECT_EQ(finding.place.bucket, 0);
  EXPECT_EQ(said(finding),
            "the hook mine does not average | In each of the 3 steps that were looked at, what it "
            "gives back is longer than the ranks' own gradients are, by their norms: 1.50 to 1.50 "
            "times. An average is never longer; a sum over 2 ranks is up to 2 times as long. | "
            "Divide by the number of ranks in the hook, once; lockstep hooks mine --verify "
            "compares it with the plain average.");
}

TEST(NoAverageTest, LeavesOutWhatMayBeLongerForAnotherReason) {
  EXPECT_TRUE(judgeAverage(hooked(1, 2)).empty()) << "as long as their mean";
  Evidence compressing = hooked(1, 3);
  compressing.hook.calls[1].payloadBytes = 10;
  EXPECT_TRUE(judgeAverage(compressing).empty()) << "what it left out before may come now";
  Evidence drifting = hooked(1, 3);
  drifting.info.driftingHook = "mine";
  EXPECT_TRUE(judgeAverage(drifting).empty());
  EXPECT_TRUE(judgeAverage(hooked(1, 3, 1)).empty()) << "two steps are finite, and too few";
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

}  // namespace
}  // namespace lockstep::diagnosis

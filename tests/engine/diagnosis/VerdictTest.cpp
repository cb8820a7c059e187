#include "engine/diagnosis/Verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/diagnosis/Diagnose.h"
#include "engine/experiment/Parse.h"
#include "tests/engine/diagnosis/MadeEvidence.h"

namespace lockstep::diagnosis {
namespace {

using analysis::TailCause;
using test::healthy;
using test::withParameters;

const Remark* remarkOn(const std::vector<Remark>& remarks, Topic topic) {
  const auto found = std::ranges::find(remarks, topic, &Remark::topic);
  return found == remarks.end() ? nullptr : &*found;
}

std::string textOn(const Evidence& evidence, Topic topic) {
  const std::vector<Remark> remarks = verdictOf(evidence);
  const Remark* remark = remarkOn(remarks, topic);
  return remark == nullptr ? "nothing" : remark->text;
}

/// Twenty samples of the two parameters on both ranks, equal in all.
void compare(Evidence& evidence) {
  analysis::ReplicaMatrix& replicas = evidence.divergence.replicas;
  replicas.ranks = {0, 1};
  replicas.parameters = 2;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    replicas.steps.push_back(step);
    for (int parameter = 0; parameter < 2; ++parameter) {
      replicas.cells.push_back({2, 0, 0, true});
      for (int rank = 0; rank < 2; ++rank) {
        replicas.classes.push_back(0);
        replicas.hashes.push_back(1);
        replicas.norms.push_back(1);
      }
    }
  }
}

/// Of step 3 on rank 0, 4 ms of bucket 2 that are due to `cause`.
Evidence exposedBy(TailCause cause) {
  Evidence evidence = healthy();
  std::vector<analysis::StepOverlap> steps = evidence.steps;
  analysis::TailItem item;
  item.cause = cause;
  item.bucket = 2;
  item.ahead = 1;
  item.peer = 1;
  item.step = 3;
  item.ticks = 77;
  item.ms = 40;
  steps[2].tail = {item};
  evidence.bucketCosts.add(steps, 1);
  return evidence;
}

TEST(VerdictTest, ADiagnosisHasIt) {
  EXPECT_EQ(diagnose(healthy()).verdict.size(), verdictOf(healthy()).size());
}

TEST(VerdictTest, SaysWhetherReplicasAreEqual) {
  Evidence evidence = withParameters();
  EXPECT_EQ(textOn(evidence, Topic::kReplicas), "replicas were not compared");
  EXPECT_EQ(verdictOf(evidence).front().brief, "replicas not compared");
  compare(evidence);
  EXPECT_EQ(textOn(evidence, Topic::kReplicas), "replicas equal in 20 samples");
  Evidence partly = evidence;
  partly.divergence.replicas.ranks = {0, 1, 2};
  EXPECT_EQ(textOn(partly, Topic::kReplicas), "replicas equal where two can be compared");
  evidence.divergence.lost = analysis::LostParameter{4, 5, 1, 0};
  EXPECT_EQ(textOn(evidence, Topic::kReplicas),
            "parameters are no numbers from step 5 on, first layers.1.weight of rank 0");
  evidence.info.driftingHook = "gossip";
  EXPECT_EQ(textOn(evidence, Topic::kReplicas), "replicas drift by design (hook gossip)");
}

TEST(VerdictTest, SaysWhenWhereAndOnWhichRankReplicasDiverged) {
  Evidence evidence = withParameters();
  compare(evidence);
  evidence.divergence.first.emplace();
  evidence.divergence.first->step = 12;
  evidence.divergence.first->parameter = 1;
  evidence.divergence.first->ranks = {1};
  EXPECT_EQ(
      textOn(evidence, Topic::kReplicas),
      "diverged at step 12 in layers.1.weight on rank 1, and which side is wrong is not known");
  evidence.divergence.first->majority = true;
  const std::vector<Remark> remarks = verdictOf(evidence);
  const Remark& remark = remarks.front();
  EXPECT_EQ(remark.text, "diverged at step 12 in layers.1.weight on rank 1");
  EXPECT_EQ(remark.brief, "diverged at step 12 in layers.1.weight");
  EXPECT_EQ(remark.place.rank, 1);
  EXPECT_EQ(remark.place.step, 12u);
}

TEST(VerdictTest, NamesTheBucketThatCostsARankMostAndWhy) {
  EXPECT_EQ(textOn(healthy(), Topic::kCost), "nothing") << "nothing is exposed";
  const std::vector<std::pair<TailCause, std::string>> reasons{
      {TailCause::kLateBucket, ", because it is ready late"},
      {TailCause::kInOrderStall, ", because bucket 1 ahead of it is not ready"},
      {TailCause::kMuchTransfer, ", because more is sent than the backward can hide"},
      {TailCause::kSlowLink, ", because the link is slow"},
      {TailCause::kLateRank, ", because rank 1 is late"},
      {TailCause::kUnevenRanks, ", because ranks take turns being last"},
      {TailCause::kNoCore, ", because a thread has no core"}};
  for (const auto& [cause, reason] : reasons) {
    EXPECT_EQ(textOn(exposedBy(cause), Topic::kCost),
              "bucket 2 costs rank 0 2.00 ms a step (mean)" + reason);
  }
  EXPECT_EQ(textOn(exposedBy(TailCause::kUnknown), Topic::kCost),
            "bucket 2 costs rank 0 2.00 ms a step (mean)");
  const std::vector<Remark> remarks = verdictOf(exposedBy(TailCause::kLateBucket));
  const Place& place = remarkOn(remarks, Topic::kCost)->place;
  EXPECT_EQ(place.step, 3u);
  EXPECT_EQ(place.bucket, 2);
  EXPECT_EQ(place.ticks, 77u);
}

TEST(VerdictTest, SaysWhomTheOthersWaitForAndInHowManySteps) {
  Evidence evidence = healthy();
  EXPECT_EQ(textOn(evidence, Topic::kLate), "who is late cannot be told from so few steps");
  evidence.run.lateness = {{0, -5, std::nullopt, false}, {1, 5, std::nullopt, false}};
  EXPECT_EQ(textOn(evidence, Topic::kLate), "no rank is late beyond chance");
  evidence.run.lateness[1].late = true;
  evidence.run.lateRank = 1;
  for (std::uint32_t step = 1; step <= 20; ++step) {
    analysis::CollectiveTimes collective;
    collective.sequence = step;
    collective.step = step;
    collective.lastRank = step % 4 == 0 ? 0 : 1;
    collective.skewTicks = step == 7 ? 900 : 100;
    evidence.run.collectives.push_back(0, collective);
  }
  EXPECT_EQ(textOn(evidence, Topic::kLate), "rank 1 is late in 15 of 20 steps");
  const std::vector<Remark> remarks = verdictOf(evidence);
  EXPECT_EQ(remarkOn(remarks, Topic::kLate)->place.step, 7u) << "where it was waited for longest";
  evidence.run.lateness.push_back({2, 4, std::nullopt, true});
  EXPECT_EQ(textOn(evidence, Topic::kLate),
            "rank 1 is late in 15 of 20 steps, and 1 more rank is late, too");
  evidence.run.lateness.push_back({3, 4, std::nullopt, true});
  EXPECT_EQ(textOn(evidence, Topic::kLate),
            "rank 1 is late in 15 of 20 steps, and 2 more ranks are late, too");
  evidence.run.lateRank.reset();
  EXPECT_EQ(textOn(evidence, Topic::kLate),
            "no rank is late beyond chance; rank 1 was the last most often, in 15 of 20 steps");
}

TEST(VerdictTest, SaysHowMuchIsHidden) {
  Evidence evidence = healthy();
  EXPECT_EQ(textOn(evidence, Topic::kOverlap), "nothing is communicated");
  evidence.run.overlapPercent = 61;
  evidence.run.exposedMs = 3.8;
  evidence.run.exposedRank = 0;
  EXPECT_EQ(textOn(evidence, Topic::kOverlap),
            "overlap 61.0 % on rank 0, 3.80 ms exposed a step (medians)");
}

TEST(VerdictTest, NamesTheSlowestStepAndWhatItSpentMoreOfThanUsual) {
  const auto slowest = [](double analysis::StepOverlap::*part, const std::string& reason,
                          const std::string& brief) {
    Evidence evidence = healthy();
    evidence.steps[6].times.stepMs = 140;
    evidence.steps[6].*part = 40;
    const std::vector<Remark> remarks = verdictOf(evidence);
    const Remark* remark = remarkOn(remarks, Topic::kSlowest);
    const std::string head = "step 7 was the slowest, 140 ms";
    EXPECT_EQ(remark->text, head + ": rank 0 " + reason);
    EXPECT_EQ(remark->brief, head + ": rank 0 " + brief);
    EXPECT_EQ(remark->bare, head);
  };
  slowest(&analysis::StepOverlap::aloneMs, "computed 40.0 ms longer than usual",
          "computed 40.0 ms longer");
  slowest(&analysis::StepOverlap::noCoreMs, "had no core for 40.0 ms more than usual",
          "had no core for 40.0 ms more");
  slowest(&analysis::StepOverlap::waitingMs, "waited 40.0 ms longer than usual",
          "waited 40.0 ms longer");
  slowest(&analysis::StepOverlap::transferMs, "took 40.0 ms longer than usual for its transfers",
          "took 40.0 ms longer to transfer");
  slowest(&analysis::StepOverlap::otherMs,
          "spent 40.0 ms more than usual outside computing and communication",
          "spent 40.0 ms more outside computing and communication");
}

TEST(VerdictTest, WritesALongStepAsTheTimelineDoes) {
  Evidence evidence = healthy();
  evidence.steps[6].times.stepMs = 2618.3;
  evidence.steps[6].otherMs = 1066.4;
  EXPECT_EQ(textOn(evidence, Topic::kSlowest),
            "step 7 was the slowest, 2.62 s: rank 0 spent 1.07 s more than usual outside "
            "computing and communication");
}

TEST(VerdictTest, AWaitForACoreIsTheReasonAlsoWhileNothingIsInFlight) {
  Evidence evidence = healthy();
  evidence.steps[6].times.stepMs = 140;
  evidence.steps[6].otherMs = 40;
  evidence.steps[6].times.offCoreMs = 35;
  EXPECT_EQ(textOn(evidence, Topic::kSlowest),
            "step 7 was the slowest, 140 ms: rank 0 had no core for 35.0 ms more than usual");
}

TEST(VerdictTest, AStepInWhichARankFailedIsNotTheSlowest) {
  Evidence evidence = healthy();
  evidence.steps[6].times.stepMs = 140;
  evidence.steps[19].times.stepMs = 900;  // rank 0, its last
  EXPECT_TRUE(textOn(evidence, Topic::kSlowest).starts_with("step 20"));
  evidence.ranks.resize(1);
  for (const char* state : {"failed", "killed", "lost"}) {
    evidence.ranks.front().state = state;
    EXPECT_TRUE(textOn(evidence, Topic::kSlowest).starts_with("step 7")) << state;
  }
}

TEST(VerdictTest, NamesTheRankThatTheSlowestStepWaitedFor) {
  Evidence evidence = healthy();
  evidence.steps[6].times.stepMs = 140;
  evidence.steps[6].waitingMs = 40;
  analysis::CollectiveTimes collective;
  collective.step = 7;
  collective.lastRank = 1;
  collective.arrivals = {{0, true, 0, 100, 90}, {1, true, 90, 100, 90}};
  evidence.run.collectives.push_back(0, collective);
  EXPECT_EQ(textOn(evidence, Topic::kSlowest),
            "step 7 was the slowest, 140 ms: rank 0 waited 40.0 ms longer than usual for rank 1");
  const std::vector<Remark> remarks = verdictOf(evidence);
  EXPECT_EQ(remarkOn(remarks, Topic::kSlowest)->brief,
            "step 7 was the slowest, 140 ms: rank 0 waited 40.0 ms longer for rank 1");
}

TEST(VerdictTest, SaysNothingOfARunWithoutAMeasuredStep) {
  EXPECT_TRUE(verdictOf(Evidence()).empty());
}

TEST(VerdictTest, SaysWhatARunIs) {
  trace::RunInfo info;
  info.worldSize = 2;
  experiment::Experiment experiment;
  experiment.processes.backend = "gloo";
  info.experimentToml = experiment::toToml(experiment);
  EXPECT_EQ(subjectOf(info, {}), "mlp, 2 ranks, gloo, hook allreduce");
  experiment.processes.backend = "auto";
  info.experimentToml = experiment::toToml(experiment);
  trace::RankInfo rank;
  rank.environment["backend"] = "shared_memory";
  EXPECT_EQ(subjectOf(info, {rank}), "mlp, 2 ranks, shared_memory, hook allreduce");
  info.experimentToml.clear();
  EXPECT_EQ(subjectOf(info, {}), "2 ranks");
}

}  // namespace
}  // namespace lockstep::diagnosis

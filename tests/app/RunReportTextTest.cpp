#include "app/cli/RunReportText.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/GoldenRun.h"
#include "tests/engine/run/Changed.h"

namespace lockstep::cli {
namespace {

using report::RunReport;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// A run of so many ranks that has ended well, with the figures of each.
RunReport reportOf(int ranks) {
  RunReport report;
  report.info.state = trace::RunState::kFinished;
  report.steps = 20;
  for (int rank = 0; rank < ranks; ++rank) {
    trace::RankInfo& info = report.ranks.emplace_back();
    info.rank = rank;
    info.parameterHash = "00112233445566aa";
    analysis::RankAnalysis& figures = report.figures.emplace_back();
    figures.rank = rank;
    figures.stepMs = 10;
    figures.overlapPercent = 40 + 10 * rank;
    figures.exposedMs = 3 - rank;
  }
  return report;
}

/// Fingerprints at steps 10, 20, .. of one parameter, whose hash is the rank's at the steps given.
void addFingerprints(analysis::RunData& data, int ranks, std::uint32_t until,
                     const std::vector<std::uint32_t>& apartAt, int oddRank = 1,
                     std::uint32_t parameters = 1) {
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t step = 10; step <= until; step += 10) {
      const bool apart = std::count(apartAt.begin(), apartAt.end(), step) > 0;
      for (std::uint32_t parameter = 0; parameter < parameters; ++parameter) {
        trace::FingerprintRow row;
        row.rank = rank;
        row.step = step;
        row.parameter = parameter;
        row.hash = apart && (rank == oddRank || oddRank < 0) ? 100u + rank : 7u;
        row.norm = 1;
        data.fingerprints.push_back(row);
      }
      data.sketches.push_back({0, rank, step, std::vector<double>(16, apart ? rank : 0)});
    }
  }
}

std::string replicasOf(const analysis::RunData& data, const std::string& driftingHook = "") {
  RunReport report;
  report.info.driftingHook = driftingHook;
  report.divergence = analysis::divergence(data);
  return replicasText(report);
}

TEST(ReplicasText, SaysWhenTheyWereEqual) {
  analysis::RunData data;
  addFingerprints(data, 2, 30, {});
  EXPECT_EQ(replicasOf(data), "equal in 3 samples, the last before step 30");
  run::changeEach(data.fingerprints, [](trace::FingerprintRow& row) {
    row.norm = row.step >= 20 ? HUGE_VAL : row.norm;
  });
  EXPECT_EQ(replicasOf(data),
            "equal in 3 samples, the last before step 30; NOT FINITE, first at step 20 in "
            "parameter 0");
}

TEST(ReplicasText, AccusesNobodyOfTwo) {
  analysis::RunData data;
  addFingerprints(data, 2, 30, {20, 30}, 1, 3);
  EXPECT_THAT(replicasOf(data),
              HasSubstr("DIFFER at step 20: parameter 0, rank 1 against rank 0, either may be "
                        "wrong; 3 of 3 parameters differ there; last seen equal at step 10; "));
}

TEST(ReplicasText, NamesTheRankThatAMajorityIsAgainst) {
  analysis::RunData data;
  addFingerprints(data, 3, 30, {30}, 2);
  EXPECT_THAT(replicasOf(data), HasSubstr("parameter 0, rank 2 against the majority; last seen"));
  analysis::RunData each;
  addFingerprints(each, 3, 30, {30}, -1);
  EXPECT_THAT(replicasOf(each), HasSubstr(", with no majority to tell who is right; last seen"));
}

TEST(ReplicasText, SaysHowFarADriftWentAndThatItIsOver) {
  analysis::RunData data;
  addFingerprints(data, 2, 30, {20});
  EXPECT_EQ(
      replicasOf(data, "post_local_sgd"),
      "drift by design (hook post_local_sgd): first apart at step 20; equal again at step 30");
  analysis::RunData lost;
  addFingerprints(lost, 2, 30, {20, 30});
  run::Grown<trace::SketchRow> allButOne;
  for (std::size_t i = 0; i + 1 < lost.sketches.size(); ++i) {
    allButOne.push_back(lost.sketches[i]);
  }
  lost.sketches = allButOne;
  EXPECT_EQ(replicasOf(lost, "post_local_sgd"),
            "drift by design (hook post_local_sgd): first apart at step 20; 2 from their mean at "
            "step 20 (Euclidean, root mean square over ranks; +- 18 %)");
  run::dropIf(lost.sketches, [](const auto& row) { return row.rank == 1 && row.step > 10; });
  EXPECT_EQ(replicasOf(lost, "post_local_sgd"),
            "drift by design (hook post_local_sgd): first apart at step 20; at step 30 not all are "
            "known and finite");
}

// A live run, or one that was killed: rank 1 has not left the newest sample.
TEST(ReplicasText, CountsNoSampleAsEqualThatNotAllRanksLeft) {
  analysis::RunData data;
  addFingerprints(data, 2, 30, {});
  const auto leaveOut = [&data](int rank, std::uint32_t from) {
    run::dropIf(data.fingerprints,
                [&](const auto& row) { return row.rank == rank && row.step >= from; });
  };
  leaveOut(1, 30);
  EXPECT_EQ(replicasOf(data), "equal in 2 samples, the last before step 20");
  EXPECT_EQ(replicasOf(data, "post_local_sgd"),
            "drift by design (hook post_local_sgd): not apart in any of 2 samples");
  data = {};
  addFingerprints(data, 3, 30, {});
  leaveOut(2, 20);
  leaveOut(1, 30);
  run::dropIf(data.fingerprints, [](const auto& row) { return row.rank == 0 && row.step == 10; });
  EXPECT_EQ(replicasOf(data),
            "equal where two or more can be compared, but no sample has all 3 ranks");
}

TEST(ReplicasText, DoesNotSayAgainOfReplicasThatWereNeverApart) {
  analysis::RunData data;
  addFingerprints(data, 2, 30, {});
  EXPECT_EQ(replicasOf(data, "post_local_sgd"),
            "drift by design (hook post_local_sgd): not apart in any of 3 samples");
}

TEST(SamplingText, GivesBothCosts) {
  RunReport report;
  report.divergence.cost = {0.5, 0.25};
  EXPECT_EQ(samplingText(report), "fingerprints 0.50 % of the step time, gradient checks 0.25 %");
}

TEST(SummaryText, GivesARangeWhereTheRanksDiffer) {
  const RunReport report = reportOf(2);
  EXPECT_THAT(summaryText(report, "r.lockstep"),
              HasSubstr("overlap 40.0 % (rank 0) to 50.0 % (rank 1), 2.00 ms (rank 1) to 3.00 ms "
                        "(rank 0) exposed per step (medians)\n"));
}

TEST(SummaryText, GivesBoundsWhereThreadsWaitedForCores) {
  RunReport report = reportOf(1);
  report.figures[0].overlapLeastPercent = 38;
  report.figures[0].overlapMostPercent = 41;
  EXPECT_THAT(summaryText(report, ""), Not(HasSubstr("is known only in bounds")));
  report.figures[0].overlapMostPercent = 60;
  report.figures[0].coreWaitMs = 2;
  const std::string text = summaryText(report, "");
  EXPECT_THAT(text,
              HasSubstr("; overlap is known only in bounds, since threads had no core at times: "
                        "at least 38.0 %, at most 60.0 %\n"));
  EXPECT_THAT(text, HasSubstr("rank 0 was ready to run and had no core for 2.00 ms a step (20 %): "
                              "more threads want to run than there are cores for them, and what "
                              "they cost each other is the fault of no rank and no link\n"));
}

TEST(SummaryText, SaysWhatAHypervisorTook) {
  RunReport report = reportOf(1);
  EXPECT_THAT(summaryText(report, ""), Not(HasSubstr("hypervisor"))) << "the kernel does not say";
  report.stolenPercent = 1;
  EXPECT_THAT(summaryText(report, ""), Not(HasSubstr("hypervisor")));
  report.stolenPercent = 12;
  EXPECT_THAT(summaryText(report, ""),
              HasSubstr("a hypervisor took 12 % of the core that lost most: a rank counts as late, "
                        "and a link as slow, only beyond that\n"));
}

TEST(SummaryText, NamesOnlyARankThatIsLateBeyondChance) {
  RunReport report = reportOf(2);
  analysis::RankLateness late;
  late.rank = 1;
  late.meanMs = 5;
  late.interval = cost::MeanInterval{5, 4.5, 5.5};
  report.lateness = {late};
  EXPECT_THAT(summaryText(report, ""), Not(HasSubstr("late")));
  report.lateness[0].late = true;
  EXPECT_THAT(summaryText(report, ""),
              HasSubstr("rank 1 comes 5.00 ms a step later than the others (4.50 to 5.50)\n"));
}

TEST(InfoText, NamesTheRanksUnlikeTheRestInOneLineOfManyRanks) {
  RunReport report = reportOf(64);
  report.ddpLogging.resize(64);
  report.lateness.push_back({5, 4, cost::MeanInterval{4, 3.5, 4.5}, true});
  diagnosis::RankLikeness& likeness = report.likeness.emplace();
  likeness.ranks = 64;
  likeness.judged = true;
  likeness.unlike.push_back(
      {{5}, std::nullopt, 0, diagnosis::Unlikeness::kComputing, 4, 1.5, std::nullopt, 0});
  likeness.classes = {{{0, 1}, false}, {{5}, true}};
  const std::string text = infoText(report);
  EXPECT_THAT(text, HasSubstr("\nunlike         rank 5 computes 4.00 ms a step longer than the "
                              "middle rank (1.50 times); the other 63 of 64 ranks do not stand "
                              "out\n"));
  EXPECT_LT(std::count(text.begin(), text.begin() + static_cast<long>(text.find("unlike")), '\n'),
            20);
  EXPECT_THAT(text, Not(HasSubstr("later than the others"))) << "said once";
  const auto json = nlohmann::json::parse(toJson(report)).at("likeness");
  EXPECT_EQ(json.at("unlike").at(0).at("ranks"), std::vector<int>{5});
  EXPECT_EQ(json.at("unlike").at(0).at("kind"), "computing");
  EXPECT_EQ(json.at("unlike").at(0).at("every"), nullptr);
  EXPECT_EQ(json.at("classes").at(0).at("count"), 2);
}

TEST(RankTable, PutsRanksThatEndedAlikeIntoALine) {
  RunReport report;
  for (int rank = 0; rank < 12; ++rank) {
    trace::RankInfo& info = report.ranks.emplace_back();
    info.rank = rank;
    info.state = rank == 7 ? "killed" : "finished";
    info.signal = rank == 7 ? 9 : 0;
    info.wireBytes = 1'000 + static_cast<std::uint64_t>(rank);
    info.parameterHash = rank == 3 ? "beef" : "cafe";
  }
  const std::string text = rankTable(report);
  EXPECT_THAT(text, ContainsRegex("\n +0-2, 4-6, 8-11 +10 +finished +- +1,000 to 1,011 .*cafe\n"));
  EXPECT_THAT(text, ContainsRegex("\n +3 +1 +finished +- +1,003 .*beef\n"));
  EXPECT_THAT(text, ContainsRegex("\n +7 +1 +killed +signal 9 +1,007 "));
  EXPECT_THAT(rankTable(report, Lists::kWhole), ContainsRegex("\n +11 +finished "));
  for (trace::RankInfo& rank : report.ranks) {
    rank.parameterHash = std::to_string(rank.rank);
    rank.lastWords = "last words";
  }
  EXPECT_THAT(rankTable(report), HasSubstr("12 different\n"));
  EXPECT_THAT(infoText(report), HasSubstr("  last words\n  and 4 more (--all)\n"));
  for (trace::RankInfo& rank : report.ranks) {
    rank.exitCode = rank.rank;
  }
  report.ranks.emplace_back().rank = 12;
  EXPECT_THAT(rankTable(report), HasSubstr("  and 1 more (--all)\n"));
}

TEST(InfoText, ListsFewRanksAsBefore) {
  RunReport report = reportOf(2);
  report.ddpLogging.resize(2);
  EXPECT_THAT(infoText(report), Not(HasSubstr("unlike")));
  EXPECT_EQ(nlohmann::json::parse(toJson(report)).at("likeness"), nullptr);
}

TEST(SummaryText, SaysWhatTheRateLeavesOut) {
  RunReport report = reportOf(1);
  report.testAccuracy = 0.931;
  report.stepsPerSecond = 26.9;
  report.stepsPerSecondWithin = 33.5;
  EXPECT_THAT(summaryText(report, ""),
              HasSubstr("20 steps, test accuracy 93.10 %, 26.9 steps/s (33.5 without evaluation, "
                        "checkpoints and what else is between steps)\n"));
  report.stepsPerSecondWithin = 27;
  EXPECT_THAT(summaryText(report, ""), HasSubstr("26.9 steps/s\n"));
}

TEST(SummaryText, SaysWhyTheRanksEndWithOtherParameters) {
  RunReport report = reportOf(2);
  report.events = 12'345;
  report.eventsDropped = 3;
  EXPECT_THAT(summaryText(report, ""), HasSubstr("00112233445566aa on every rank\n"));
  EXPECT_THAT(summaryText(report, ""), HasSubstr("12,345 recorded, 3 dropped\n"));
  report.ranks[1].parameterHash = "0";
  EXPECT_THAT(summaryText(report, ""), HasSubstr("DIFFERENT on the ranks, see lockstep info\n"));
  report.ranks[0].environment[trace::kIgnoredParameters] = "fc.bias";
  EXPECT_THAT(summaryText(report, ""),
              HasSubstr("not compared: ddp.ignore leaves some of them to each rank\n"));
  report.info.driftingHook = "noop";
  EXPECT_THAT(summaryText(report, ""),
              HasSubstr("each rank's own: hook noop lets the replicas drift\n"));
}

TEST(InfoText, SaysWhatComparingTheCallsCostAndNamesEachLayout) {
  RunReport report = reportOf(2);
  report.checks = analysis::CheckCost{};
  report.checks->calls = 1'200;
  report.checks->ownPercent = 0.5;
  report.checks->waitingPercent = 2;
  report.layouts.push_back({1, 1, "rebuild", {}});
  const std::string text = infoText(report);
  EXPECT_THAT(text, HasSubstr("1,200 calls compared first: 0.50 % of the step time, and 2.00 % "
                              "waiting for their last rank\n"));
  EXPECT_THAT(text, HasSubstr("\nbuckets from step 1 (rebuild)\n"));
}

TEST(InfoText, SaysWhatTheRunFileDoesNotHold) {
  RunReport report = reportOf(2);
  EXPECT_THAT(infoText(report), Not(HasSubstr("left out")));
  report.info.environment[trace::kLeftOut] = "of 90 of 100 steps there are sums alone";
  EXPECT_THAT(infoText(report),
              HasSubstr("left out       of 90 of 100 steps there are sums alone\n"));
  EXPECT_THAT(summaryText(report, "a"), HasSubstr("left out       of 90 of 100 steps"));
}

TEST(InfoText, SaysWhyAJobHasNoBuckets) {
  RunReport report = reportOf(2);
  report.ranks.front().environment[trace::kNoBuckets] =
      "no DistributedDataParallel was made in this job: it has no buckets";
  EXPECT_THAT(infoText(report),
              HasSubstr("\nbuckets\n  no DistributedDataParallel was made in this job: it has no "
                        "buckets\n"));
}

TEST(RunReportText, NamesOfPhasesAreNoFactsOfARank) {
  const std::string run = goldenRun("1.5");
  const auto phases = [](const std::vector<trace::RankInfo>& ranks) {
    int count = 0;
    for (const trace::RankInfo& rank : ranks) {
      for (const auto& [key, value] : rank.environment) {
        count += key.starts_with("phase.") ? 1 : 0;
      }
    }
    return count;
  };
  EXPECT_EQ(phases(trace::readRunSummary(run).value().ranks), 2);
  EXPECT_EQ(phases(report::readRunReport(run).value().ranks), 0);
  EXPECT_THAT(toJson(report::readRunReport(run).value()), Not(HasSubstr("\"phase.")));
}

}  // namespace
}  // namespace lockstep::cli

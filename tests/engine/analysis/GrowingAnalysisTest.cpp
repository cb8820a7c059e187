#include "engine/analysis/GrowingAnalysis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "engine/cost/Sample.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/ArrivingRun.h"
#include "tests/support/AllocatedBytes.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

void expectSame(const RunAnalysis& grown, const RunAnalysis& whole) {
  EXPECT_EQ(grown.warmUp, whole.warmUp);
  ASSERT_EQ(grown.ranks.size(), whole.ranks.size());
  for (std::size_t i = 0; i < whole.ranks.size(); ++i) {
    EXPECT_EQ(grown.ranks[i], whole.ranks[i]) << "rank " << i;
  }
  const auto same = [](const auto& a, const auto& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  };
  EXPECT_TRUE(same(grown.stepRows, whole.stepRows));
  EXPECT_TRUE(same(grown.collectives, whole.collectives));
  EXPECT_TRUE(same(grown.waits, whole.waits));
  ASSERT_EQ(grown.waitsFor.size(), whole.waitsFor.size());
  for (const auto& [rank, waits] : whole.waitsFor) {
    EXPECT_TRUE(same(grown.waitsFor.at(rank), waits)) << rank;
  }
  EXPECT_EQ(grown.lateness, whole.lateness);
  EXPECT_EQ(grown.checks, whole.checks);
  EXPECT_EQ(grown.lateRank, whole.lateRank);
  EXPECT_EQ(grown.lateShare, whole.lateShare);
  EXPECT_EQ(grown.exposedRank, whole.exposedRank);
  EXPECT_EQ(grown.exposedMs, whole.exposedMs);
  EXPECT_EQ(grown.overlapPercent, whole.overlapPercent);
  EXPECT_EQ(grown.stepsPerSecond, whole.stepsPerSecond);
  EXPECT_EQ(grown.wallStepsPerSecond, whole.wallStepsPerSecond);
}

/// Feeds the run in pieces and compares after each; returns how often all was analysed anew.
int feed(const HandMadeRun& run, std::size_t piece,
         const std::function<void(RunData&, std::size_t)>& between = nullptr) {
  GrowingAnalysis growing;
  RunData data = run.tables;
  for (std::size_t first = 0; first < run.spans.size(); first += piece) {
    for (std::size_t i = first; i < std::min(first + piece, run.spans.size()); ++i) {
      data.spans.push_back(run.spans[i]);
    }
    if (between) {
      between(data, first);
    }
    const RunData snapshot = data;
    expectSame(growing.refresh(snapshot), analyse(snapshot));
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "after span " << first + piece;
      break;
    }
  }
  return growing.restarts();
}

TEST(GrowingAnalysisTest, SaysTheSameAsOfAllAtOnceAndAnalysesNothingTwice) {
  HandMadeRun run = trained(3, 400);
  arrive(run);
  EXPECT_EQ(feed(run, 2'777), 0);
  EXPECT_EQ(analyse(run.data()).lateRank, 1) << "the verdicts are in what is compared";
  EXPECT_TRUE(analyse(run.data()).checks.has_value());
}

TEST(GrowingAnalysisTest, ARefreshTakesTheSameHoweverLongTheRunIs) {
  HandMadeRun run = trained(2, 3'000);
  arrive(run);
  GrowingAnalysis growing;
  std::vector<std::size_t> bytes;
  feedPieces(run, run.spans.size() / 150, [&](RunData& data, bool more) {
    const RunData snapshot = data;
    const std::size_t before = support::allocatedBytes();
    growing.refresh(snapshot, more);
    bytes.push_back(support::allocatedBytes() - before);
  });
  ASSERT_GT(bytes.size(), 150u);
  // Now and then values that are sorted become one list: what most take is what is asked. Up to
  // 1,024 steps an interval is drawn from each of them.
  const auto usual = [&](std::ptrdiff_t first) {
    return static_cast<double>(
        *cost::median(std::vector<double>(bytes.begin() + first, bytes.begin() + first + 20)));
  };
  EXPECT_LT(usual(125), 1.1 * usual(60));
}

TEST(GrowingAnalysisTest, SaysTheSameWhereSpansComeLate) {
  HandMadeRun run = trained(2, 400);
  arrive(run, [](const SpanRow& span) -> std::uint64_t {
    const bool late = span.track == 11 && span.step > 100 && span.step < 110;
    return late ? 6'000'000 : span.track == 10 ? 300'000 : 0;
  });
  const int restarts = feed(run, 1'111);
  EXPECT_GE(restarts, 1);
  EXPECT_LE(restarts, 2) << "after one, steps stay open for longer";
}

TEST(GrowingAnalysisTest, WaitsNotForARankThatHasStopped) {
  HandMadeRun run = trained(3, 1'700);
  std::erase_if(run.spans,
                [](const SpanRow& span) { return span.track / 10 == 2 && span.step > 99; });
  arrive(run);
  EXPECT_EQ(feed(run, 14'000), 0);
}

TEST(GrowingAnalysisTest, ABetterCalibrationOfTheClockChangesNothingThatIsClosed) {
  HandMadeRun run = trained(2, 300);
  run.tables.clock.nsPerTick = 1'000.01;
  arrive(run);
  EXPECT_EQ(feed(run, 1'999, [](RunData& data, std::size_t) { data.clock.nsPerTick *= 1 + 3e-9; }),
            0);
}

TEST(GrowingAnalysisTest, AnalysesAllAnewWhereTheDoubtOfTheClocksIsAnother) {
  HandMadeRun run = trained(2, 300);
  arrive(run);
  std::int64_t doubtNs = 3'000'000;
  EXPECT_GT(feed(run, 4'000,
                 [&](RunData& data, std::size_t) {
                   trace::RunUpdate update;
                   update.ranks = std::vector<trace::RankInfo>(2);
                   update.ranks->at(1).rank = update.ranks->at(1).host = 1;
                   update.hosts = std::vector<trace::HostState>{
                       {{0, "alpha", "", "tsc"}, trace::ClockOffset{}},
                       {{1, "beta", "", "tsc"}, trace::ClockOffset{0, doubtNs /= 2}}};
                   data.doubt.take(update);
                 }),
            0);
}

TEST(GrowingAnalysisTest, SaysTheSameWhereTheRebuildIsToldLateAndEventsAreLost) {
  HandMadeRun run = trained(2, 300);
  for (const std::uint32_t step : {40u, 41u, 200u}) {
    run.add(1, EventKind::kGap, step * kStepTicks, step * kStepTicks + 20'000, step, 9);
  }
  arrive(run);
  EXPECT_EQ(feed(run, 1'500,
                 [](RunData& data, std::size_t first) {
                   if (first == 4'500) {
                     data.layouts = {{0, 0, "construction", {}}, {1, 1, "rebuild", {}}};
                   }
                   data.addStolen(0, 1.5);
                 }),
            1);
}

TEST(GrowingAnalysisTest, SaysTheSameWhereARankJoinsAndADeviceBeginsToCompute) {
  HandMadeRun run = trained(3, 300);
  std::erase_if(run.spans,
                [](const SpanRow& span) { return span.track / 10 == 2 && span.step < 150; });
  run.add(0, EventKind::kKernels, 220 * kStepTicks, 220 * kStepTicks + 1'000, 219);
  arrive(run);
  EXPECT_EQ(feed(run, 1'700), 2);
}

TEST(GrowingAnalysisTest, SaysTheSameWhereSumsStandInForSpansAndSomeComeLate) {
  HandMadeRun run = trained(2, 300);
  arrive(run);
  const int restarts = feed(run, 2'222, [](RunData& data, std::size_t first) {
    trace::StepSumsRow sums;
    sums.kept = trace::KeptDetail::kPhases;
    sums.step = static_cast<std::uint32_t>(first / 100);  // far behind at the end
    sums.rank = static_cast<int>(first % 3);              // of whom one has no spans
    sums.inFlight = 10'000;
    sums.overlap = first % 10'000;
    data.sums.push_back(sums);
  });
  EXPECT_GE(restarts, 1);
}

}  // namespace
}  // namespace lockstep::analysis

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/analysis/GrowingAnalysis.h"
#include "engine/analysis/Headroom.h"
#include "engine/analysis/StepOverlap.h"
#include "tests/engine/analysis/ArrivingRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

std::vector<StepOverlap> byRank(std::vector<StepOverlap> steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const StepOverlap& a, const StepOverlap& b) {
    return a.times.rank < b.times.rank;
  });
  return steps;
}

/// Looks at the run as it comes, compares each look with what all at once is, and returns how often
/// what was kept was made anew.
int feed(const HandMadeRun& run, std::size_t piece,
         const std::function<void(RunData&)>& before = nullptr) {
  GrowingAnalysis growing;
  GrowingOverlaps overlaps;
  std::vector<StepOverlap> closed;
  TailSums reasons;
  HeadroomSamples headroom;
  int anew = 0;
  feedPieces(run, piece, [&](RunData& data, bool more) {
    if (before) {
      before(data);
    }
    const RunAnalysis analysis = growing.refresh(data, more);
    const std::uint32_t first = analysis.warmUp.firstMeasured;
    OverlapNews news = overlaps.refresh(data, analysis);
    if (news.anew) {
      anew += closed.empty() ? 0 : 1;
      closed.clear();
      reasons = {};
      headroom = HeadroomSamples(first);
    }
    closed.insert(closed.end(), news.closed.begin(), news.closed.end());
    reasons.add(news.closed, first);
    headroom.add(news.closed);
    headroom.settle();
    std::vector<StepOverlap> all = closed;
    all.insert(all.end(), news.open.begin(), news.open.end());
    const std::vector<StepOverlap> whole = stepOverlaps(data, analyse(data));
    ASSERT_EQ(byRank(all), whole) << "after " << data.spans.size() << " spans";
    std::vector<StepOverlap> apart;
    for (const std::vector<StepOverlap>& rank : rankStepOverlaps(data, analyse(data))) {
      EXPECT_TRUE(rank.empty() || rank.front().times.rank == rank.back().times.rank);
      apart.insert(apart.end(), rank.begin(), rank.end());
    }
    ASSERT_EQ(apart, whole);
    TailSums grown = reasons;
    grown.add(news.open, first);
    EXPECT_EQ(grown.reasons(), tailReasons(whole, first));
    HeadroomSamples medians = headroom;
    medians.add(news.open);
    auto grownRanks = medians.medians();
    auto wholeRanks = rankOverlaps(whole, first);
    ASSERT_EQ(grownRanks.size(), wholeRanks.size());
    for (std::size_t i = 0; i < wholeRanks.size(); ++i) {
      // Of a run that goes on the verdict may be one of some steps ago.
      wholeRanks[i].bottleneck = more ? grownRanks[i].bottleneck : wholeRanks[i].bottleneck;
      EXPECT_EQ(grownRanks[i], wholeRanks[i]) << "rank " << i;
    }
  });
  EXPECT_FALSE(closed.empty()) << "or nothing was kept";
  return anew;
}

TEST(GrowingOverlapsTest, SayTheSameAsOfAllAtOnceAndDivideNoStepTwice) {
  HandMadeRun run = trained(3, 300);
  arrive(run);
  // Anew once when steps are enough to judge who is late, and once when the run has ended.
  EXPECT_LE(feed(run, 2'777), 2);
}

TEST(GrowingOverlapsTest, SayTheSameWhateverSpanAPieceEndsWith) {
  HandMadeRun run = trained(2, 90);
  arrive(run);
  feed(run, 61);
}

TEST(GrowingOverlapsTest, SayTheSameWhereARankLags) {
  HandMadeRun run = trained(2, 300);
  arrive(run, [](const SpanRow& span) -> std::uint64_t {
    return span.track / 10 == 1 ? 700'000 : span.track == 1 ? 30'000 : 0;
  });
  EXPECT_LE(feed(run, 1'111), 2);
}

TEST(GrowingOverlapsTest, SayTheSameWhereSpansComeLate) {
  HandMadeRun run = trained(2, 300);
  arrive(run, [](const SpanRow& span) -> std::uint64_t {
    const bool late = (span.track == 11 || span.kind == EventKind::kBucketReady) &&
                      span.step > 100 && span.step < 110;
    return late ? 6'000'000 : 0;
  });
  EXPECT_GE(feed(run, 1'111), 2);
}

TEST(GrowingOverlapsTest, SayTheSameWhereACallOutlastsManySteps) {
  HandMadeRun run = trained(2, 200);
  for (int rank = 0; rank < 2; ++rank) {
    run.addCollective(rank, 50 * kStepTicks + 100 * (rank + 1), 95 * kStepTicks, 7, 49,
                      trace::Operation::kAllgather, 1);
  }
  arrive(run);
  feed(run, 1'300);
}

TEST(GrowingOverlapsTest, SayTheSameWhereSumsStandInForSpansThatWereLeftOut) {
  HandMadeRun run = trained(2, 300);
  arrive(run);
  std::uint32_t next = 0;
  const auto addSums = [&next](RunData& data) {
    for (; next < data.lastStep(); ++next) {
      for (int rank = 0; next % 4 != 0 && rank < 2; ++rank) {
        trace::StepSumsRow sums;
        sums.kept = next % 4 == 1   ? trace::KeptDetail::kSums
                    : next % 4 == 2 ? trace::KeptDetail::kPhases
                                    : trace::KeptDetail::kUnlike;
        sums.step = next;
        sums.rank = rank;
        sums.computing = 30'000;
        sums.inFlight = 40'000 + next;
        sums.overlap = 4'000;
        data.sums.push_back(sums);
      }
    }
  };
  EXPECT_LE(feed(run, 1'111, addSums), 2);
  RunData data = run.data();
  next = 0;
  addSums(data);
  const auto steps = stepOverlaps(data, analyse(data));
  EXPECT_EQ(steps.at(5).times.kept, trace::KeptDetail::kSums);
  EXPECT_TRUE(steps.at(5).tail.empty()) << "what is compared has steps in it that have no cause";
  EXPECT_GT(steps.at(5).undividedMs, 0);
}

TEST(GrowingOverlapsTest, MakeAllAnewWhereTransfersTurnOutToBeTelling) {
  HandMadeRun run = trained(2, 300);
  for (SpanRow& span : run.spans) {
    // From some step on transfers are longer than all of the backward.
    const bool transfer = span.kind == EventKind::kCollective && span.step > 100;
    span.durationTicks = transfer && span.bucket == 0 ? 33'000 : span.durationTicks;
  }
  arrive(run);
  feed(run, 1'500);
  const auto steps = stepOverlaps(run.data(), analyse(run.data()));
  EXPECT_TRUE(std::ranges::any_of(steps, [](const StepOverlap& step) {
    return std::ranges::any_of(step.tail, &TailItem::telling);
  })) << "what is compared has the verdict in it";
}

}  // namespace
}  // namespace lockstep::analysis

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "engine/analysis/BucketDelays.h"
#include "engine/analysis/CallSequences.h"
#include "engine/analysis/Divergence.h"
#include "engine/analysis/GrowingAnalysis.h"
#include "engine/analysis/HookBuckets.h"
#include "tests/engine/analysis/ArrivingRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;
using trace::SpanRow;

/// Runs whose pieces end in the middle of steps and collectives.
std::vector<HandMadeRun> runs() {
  std::vector<HandMadeRun> all;
  arrive(all.emplace_back(trained(3, 200)));
  // Rank 1 lags, and its communication once more.
  arrive(all.emplace_back(trained(2, 200)), [](const SpanRow& span) -> std::uint64_t {
    return span.track / 10 == 1 ? 700'000 : span.track == 1 ? 30'000 : 0;
  });
  // Some spans come when their steps are closed.
  arrive(all.emplace_back(trained(2, 200)), [](const SpanRow& span) -> std::uint64_t {
    const bool late = span.step > 60 && span.step < 64 &&
                      (span.track == 11 || span.kind == EventKind::kHookDecode);
    return late ? 5'000'000 : 0;
  });
  // A rank loses events, makes a call of another kind, leaves one out, and joins late.
  HandMadeRun& uneven = all.emplace_back(trained(3, 200));
  std::erase_if(uneven.spans, [](const SpanRow& span) {
    const bool call = span.kind == EventKind::kCollective && span.bucket == 2;
    return (span.track / 10 == 2 && span.step < 30) ||
           (span.track == 1 && call && span.step == 50) ||
           (span.track == 11 && call && span.step >= 90 && span.step < 93);
  });
  for (SpanRow& span : uneven.spans) {
    if (span.track == 21 && span.step == 70 && span.kind == EventKind::kCollective) {
      span.detail = trace::packOperation(trace::Operation::kBroadcast);
    }
  }
  uneven.add(0, EventKind::kGap, 50 * kStepTicks, 52 * kStepTicks, 50, 9);
  arrive(uneven);
  return all;
}

template <typename A, typename B>
bool same(const A& a, const B& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

TEST(GrowingHookTimesTest, SayTheSameAsOfAllAtOnce) {
  for (const HandMadeRun& run : runs()) {
    GrowingAnalysis growing;
    GrowingHookTimes hook;
    HookTimes closed;
    HookCalls calls;
    feedPieces(run, 997, [&](const RunData& data, bool more) {
      const RunAnalysis analysis = growing.refresh(data, more);
      const HookNews news = hook.refresh(data, analysis);
      closed = news.anew ? HookTimes() : closed;
      calls = news.anew ? HookCalls() : calls;
      calls.add(news.closed);
      closed.measuredSteps += news.closed.measuredSteps;
      closed.incompleteSteps += news.closed.incompleteSteps;
      closed.calls.insert(closed.calls.end(), news.closed.calls.begin(), news.closed.calls.end());
      std::vector<HookCall> all = closed.calls;
      all.insert(all.end(), news.open.calls.begin(), news.open.calls.end());
      std::stable_sort(all.begin(), all.end(),
                       [](const HookCall& a, const HookCall& b) { return a.rank < b.rank; });
      const HookTimes whole = hookTimes(data, analyse(data));
      ASSERT_EQ(all, whole.calls);
      EXPECT_EQ(closed.measuredSteps + news.open.measuredSteps, whole.measuredSteps);
      EXPECT_EQ(closed.incompleteSteps + news.open.incompleteSteps, whole.incompleteSteps);
      const HookCalls grown = calls.with(news.open);
      const HookCalls atOnce(whole);
      EXPECT_EQ(grown.size(), atOnce.size());
      for (const std::optional<int> rank : {std::optional<int>(), std::optional(1)}) {
        EXPECT_EQ(grown.step({}, rank).workMs, atOnce.step({}, rank).workMs);
        const auto buckets = atOnce.buckets({}, rank);
        const auto grownBuckets = grown.buckets({}, rank);
        ASSERT_EQ(grownBuckets.size(), buckets.size());
        for (std::size_t i = 0; i < buckets.size(); ++i) {
          EXPECT_EQ(grownBuckets[i].share, buckets[i].share);
          EXPECT_EQ(grownBuckets[i].total.mean, buckets[i].total.mean);
          EXPECT_EQ(grownBuckets[i].total.p99, buckets[i].total.p99);
          EXPECT_EQ(*grown.longest(buckets[i].bucket, HookPhase::kTransfer, rank),
                    *atOnce.longest(buckets[i].bucket, HookPhase::kTransfer, rank));
        }
      }
    });
    EXPECT_FALSE(closed.calls.empty()) << "or nothing was kept";
  }
}

TEST(GrowingBucketDelaysTest, SayTheSameAsOfAllAtOnce) {
  for (const HandMadeRun& run : runs()) {
    GrowingAnalysis growing;
    GrowingBucketDelays delays;
    feedPieces(run, 997, [&](const RunData& data, bool more) {
      const RunAnalysis analysis = growing.refresh(data, more);
      const BucketDelays grown = delays.refresh(data, analysis);
      const BucketDelays whole = bucketDelays(data, analyse(data));
      ASSERT_EQ(grown.ranks, whole.ranks);
      ASSERT_EQ(grown.buckets, whole.buckets);
      for (std::size_t i = 0; i < whole.cells.size(); ++i) {
        ASSERT_TRUE(same(grown.cells[i].samples, whole.cells[i].samples)) << i;
        EXPECT_EQ(grown.cells[i].measuredSteps, whole.cells[i].measuredSteps);
        EXPECT_EQ(grown.cells[i].medianMs, whole.cells[i].medianMs);
        EXPECT_EQ(grown.cells[i].worst, whole.cells[i].worst);
        const int rank = whole.ranks[i / static_cast<std::size_t>(whole.buckets)];
        const auto bucket = static_cast<std::uint16_t>(i % static_cast<std::size_t>(whole.buckets));
        EXPECT_EQ(grown.costs.steps(rank), whole.costs.steps(rank));
        EXPECT_NEAR(grown.costs.meanMs(rank, bucket).value_or(-1),
                    whole.costs.meanMs(rank, bucket).value_or(-1), 1e-9);
      }
    });
  }
}

TEST(GrowingCallSequencesTest, SayTheSameAsOfAllAtOnce) {
  std::size_t mismatches = 0;
  for (const HandMadeRun& run : runs()) {
    GrowingAnalysis growing;
    GrowingCallSequences calls;
    feedPieces(run, 997, [&](const RunData& data, bool more) {
      const auto grown = calls.refresh(data, growing.refresh(data, more), !more);
      const auto whole = callSequences(data, !more);
      ASSERT_EQ(grown.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(grown[i].group, whole[i].group);
        EXPECT_EQ(grown[i].checks, whole[i].checks);
        EXPECT_EQ(grown[i].ranks, whole[i].ranks);
        ASSERT_TRUE(same(grown[i].rows, whole[i].rows)) << data.spans.size();
        EXPECT_TRUE(std::equal(grown[i].calls.begin(), grown[i].calls.end(), whole[i].calls.begin(),
                               [](const SpanRow& a, const SpanRow& b) { return a.id == b.id; }));
        EXPECT_EQ(grown[i].suspects, whole[i].suspects);
        EXPECT_EQ(grown[i].first, whole[i].first);
        EXPECT_EQ(grown[i].mismatches, whole[i].mismatches);
        mismatches += whole[i].mismatches;
      }
    });
  }
  EXPECT_GT(mismatches, 0u) << "or verdicts are not in what is compared";
}

TEST(GrowingDivergenceTest, SaysTheSameAsOfAllAtOnce) {
  HandMadeRun run = trained(2, 200);
  arrive(run);
  std::vector<trace::FingerprintRow> rows;
  for (std::uint32_t step = 0; step < 200; step += 4) {
    for (std::uint32_t parameter = 0; parameter < 3; ++parameter) {
      for (const int rank : {0, 1}) {
        const bool differs = rank == 1 && parameter == 2 && step >= 120;
        const double norm = step == 80 && parameter == 1 ? std::nan("") : 1.5;
        rows.push_back({0, rank, step, parameter, step + (differs ? 9u : 0u), norm});
      }
    }
  }
  GrowingAnalysis growing;
  GrowingDivergence divergences;
  DivergenceParts kept;
  std::size_t next = 0;
  feedPieces(run, 997, [&](RunData& data, bool more) {
    // A piece ends in the middle of a sample.
    for (const std::size_t end =
             std::min(rows.size(), data.spans.size() * rows.size() / run.spans.size());
         next < end; ++next) {
      const trace::FingerprintRow& row = rows[next];
      data.fingerprints.push_back(row);
      if (row.parameter == 0) {
        const double counter = row.rank == 1 && row.step >= 120 ? 2.0 : 1.0;
        data.sketches.push_back({0, row.rank, row.step, {counter, 1.0}});
      }
      trace::GradientsMessage::Bucket gradients;
      gradients.bucket = static_cast<std::uint16_t>(row.parameter);
      gradients.norm = 1.0 + row.step;
      gradients.nans = row.rank == 1 && row.step == 60 ? 2 : 0;
      data.gradients.push_back({0, row.rank, row.step, gradients});
    }
    data.losses.push_back({0, 0, "loss", static_cast<std::uint32_t>(next), 0, 1.0});
    const Divergence grown = divergences.refresh(data, growing.refresh(data, more));
    const Divergence whole = divergence(data);
    kept = more ? divergences.closedBefore() : kept;  // at the end all is made anew
    ASSERT_EQ(grown.consensus.size(), whole.consensus.size());
    for (std::size_t i = 0; i < whole.consensus.size(); ++i) {
      EXPECT_EQ(grown.consensus[i].step, whole.consensus[i].step);
      EXPECT_EQ(grown.consensus[i].spread, whole.consensus[i].spread);
    }
    ASSERT_EQ(grown.gradientNorms.size(), whole.gradientNorms.size());
    for (std::size_t i = 0; i < whole.gradientNorms.size(); ++i) {
      EXPECT_EQ(grown.gradientNorms[i].step, whole.gradientNorms[i].step);
      EXPECT_EQ(grown.gradientNorms[i].norms, whole.gradientNorms[i].norms);
    }
    EXPECT_TRUE(same(grown.findings, whole.findings));
    EXPECT_EQ(grown.firstBadLoss, whole.firstBadLoss);
    EXPECT_TRUE(same(grown.replicas.steps, whole.replicas.steps));
    EXPECT_EQ(grown.replicas.ranks, whole.replicas.ranks);
    EXPECT_TRUE(same(grown.replicas.classes, whole.replicas.classes));
    EXPECT_TRUE(same(grown.replicas.hashes, whole.replicas.hashes));
    EXPECT_TRUE(same(grown.replicas.norms, whole.replicas.norms));
    ASSERT_EQ(grown.replicas.cells.size(), whole.replicas.cells.size());
    for (std::size_t i = 0; i < whole.replicas.cells.size(); ++i) {
      EXPECT_EQ(grown.replicas.cells[i].differing, whole.replicas.cells[i].differing);
      EXPECT_EQ(grown.replicas.cells[i].notFinite, whole.replicas.cells[i].notFinite);
    }
    ASSERT_EQ(grown.first.has_value(), whole.first.has_value());
    if (whole.first) {
      EXPECT_EQ(grown.first->sample, whole.first->sample);
      EXPECT_EQ(grown.first->lastEqualStep, whole.first->lastEqualStep);
      EXPECT_EQ(grown.first->parametersDiffering, whole.first->parametersDiffering);
    }
    ASSERT_EQ(grown.lost.has_value(), whole.lost.has_value());
    if (whole.lost) {
      EXPECT_EQ(grown.lost->step, whole.lost->step);
      EXPECT_EQ(grown.lost->rank, whole.lost->rank);
    }
  });
  EXPECT_GT(kept.samples, 10u) << "or nothing was kept";
  EXPECT_GT(kept.consensus, 10u);
  EXPECT_GT(kept.gradientNorms, 10u);
  EXPECT_GT(kept.findings, 0u);
}

}  // namespace
}  // namespace lockstep::analysis

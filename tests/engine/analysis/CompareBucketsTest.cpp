#include <gmock/gmock.h>

#include "engine/analysis/Compare.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/ComparedRuns.h"

namespace lockstep::analysis {
namespace {

using testing::HasSubstr;
using trace::EventKind;

TEST(CompareBucketsTest, BucketsThatAreNotTheSameAreTakenTogether) {
  HandMadeRun a = exchange(1'000, 2'000);
  HandMadeRun b = exchange(1'000, 2'500);
  trace::BucketsMessage layout;
  layout.buckets.resize(1);
  layout.buckets[0].parameters = {0, 1};
  a.tables.layouts = {layout};
  layout.buckets.resize(2);
  layout.buckets[0].parameters = {1};
  layout.buckets[1].parameters = {0};
  b.tables.layouts = {layout};
  Runs runs;
  runs.add(a);
  runs.add(b);
  const Why why = compare(runs.all).why[0];
  EXPECT_FALSE(why.perBucket);
  EXPECT_THAT(why.reasons.front().sentence, HasSubstr("all buckets (1 in A, 2 in B)"));
}

/// A layout whose buckets hold these parameters.
trace::BucketsMessage layoutOf(const std::vector<std::vector<std::uint32_t>>& buckets) {
  trace::BucketsMessage layout;
  for (const auto& parameters : buckets) {
    layout.buckets.emplace_back().parameters = parameters;
  }
  return layout;
}

/// exchange() with its collective in `bucket` of a layout.
HandMadeRun exchangeOf(std::uint16_t bucket, const std::vector<std::vector<std::uint32_t>>& buckets,
                       std::uint64_t transferTicks) {
  HandMadeRun run = exchange(1'000, transferTicks);
  run.tables.layouts = {layoutOf(buckets)};
  for (trace::SpanRow& span : run.spans) {
    span.bucket = span.kind == EventKind::kCollective ? bucket : span.bucket;
  }
  return run;
}

TEST(CompareBucketsTest, BucketsAreAlignedByTheirParameters) {
  Runs runs;
  runs.add(exchangeOf(1, {{4, 3}, {2, 1}, {0}}, 2'000));
  runs.add(exchangeOf(2, {{4}, {3}, {2, 1, 0}}, 2'500));
  const BucketAlignment aligned = alignBuckets(runs.all[0], runs.all[1], "B");
  EXPECT_FALSE(aligned.same);
  ASSERT_EQ(aligned.groups.size(), 2u);
  EXPECT_EQ(aligned.groups[0].inA, std::vector<std::uint16_t>{0});
  EXPECT_EQ(aligned.groups[0].inB, (std::vector<std::uint16_t>{0, 1}));
  EXPECT_EQ(aligned.groups[1].inA, (std::vector<std::uint16_t>{1, 2}));
  EXPECT_EQ(aligned.groups[1].inB, std::vector<std::uint16_t>{2});
  const Why why = compare(runs.all).why[0];
  ASSERT_FALSE(why.reasons.empty());
  const Reason& reason =
      why.reasons[0].key.cause == Cause::kTransfer ? why.reasons[0] : why.reasons[1];
  EXPECT_EQ(reason.sentence,
            "Exposed transfer of buckets 1, 2 of A (bucket 2 of B) takes 0.50 ms more a step "
            "(2.00 \u2192 2.50 ms).");
  EXPECT_EQ(reason.key.bucket, trace::kNoBucket);
  EXPECT_EQ(reason.buckets.inB, std::vector<std::uint16_t>{2});
  EXPECT_THAT(why.summary, HasSubstr("The buckets differ (3 in A, 3 in B): those that hold the "
                                     "same parameters are set against each other."));
}

TEST(CompareBucketsTest, BucketsWithoutACommonCutAreTakenTogetherAndItIsSaid) {
  Runs runs;
  runs.add(exchangeOf(0, {{1, 0}}, 2'000));
  runs.add(exchangeOf(0, {{1}, {0}}, 2'500));
  const Why why = compare(runs.all).why[0];
  EXPECT_THAT(why.summary, HasSubstr("The buckets differ (1 in A, 2 in B), and no part of them "
                                     "holds the same parameters: all are taken together."));
}

TEST(CompareBucketsTest, ParametersOfOtherSizesAreNotSetAgainstEachOther) {
  Runs runs;
  HandMadeRun a = exchangeOf(0, {{1}, {0}}, 2'000);
  HandMadeRun b = exchangeOf(0, {{1}, {0}}, 2'500);
  a.tables.parameters.resize(2);
  b.tables.parameters.resize(2);
  b.tables.parameters[1].numel = 7;
  runs.add(a);
  runs.add(b);
  const Why why = compare(runs.all).why[0];
  EXPECT_FALSE(why.perBucket);
  EXPECT_THAT(why.summary, HasSubstr("The models of A and B have other parameters, so that all "
                                     "buckets are taken together."));
}

TEST(CompareBucketsTest, ARunWithoutBucketsIsSaidToHaveNone) {
  Runs runs;
  runs.add(exchange(1'000, 2'000));
  runs.add(exchangeOf(0, {{1}, {0}}, 2'500));
  EXPECT_THAT(compare(runs.all).why[0].summary,
              HasSubstr("No buckets of A are known, so that those of B are taken together."));
}

}  // namespace
}  // namespace lockstep::analysis

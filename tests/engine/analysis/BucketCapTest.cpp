#include "engine/analysis/BucketCap.h"

#include <gtest/gtest.h>

#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

trace::BucketsMessage layoutOf(HandMadeStep step) {
  return step.layout;
}

// 100 bytes a parameter, limit 250: two are not enough, the third takes it to 300.
TEST(BucketCap, NamesTheParameterThatTookABucketBeyondItsLimit) {
  const auto layout = layoutOf(HandMadeStep(0).bucket({5, 4, 3}, 250));
  const BucketCap cap = bucketCap(layout, 0);
  EXPECT_EQ(cap.end, BucketEnd::kReached);
  EXPECT_EQ(cap.lastParameter, 3u);
  EXPECT_EQ(cap.beforeLastBytes, 200u);
  EXPECT_EQ(cap.overshootBytes, 50u);
}

TEST(BucketCap, HasNoOvershootWhereTheLimitIsMetOrNotReached) {
  const auto layout = layoutOf(HandMadeStep(0).bucket({3, 2}, 200).bucket({1}, 200));
  EXPECT_EQ(bucketCap(layout, 0).end, BucketEnd::kReached);
  EXPECT_EQ(bucketCap(layout, 0).overshootBytes, 0u);
  EXPECT_EQ(bucketCap(layout, 1).end, BucketEnd::kLeftOver);
  EXPECT_EQ(bucketCap(layout, 1).overshootBytes, 0u);
}

TEST(BucketCap, TellsASparseGradientFromABucketWithoutALimit) {
  const auto sparse = layoutOf(HandMadeStep(0).bucket({2}, 0).bucket({1, 0}, 200));
  EXPECT_EQ(bucketCap(sparse, 0).end, BucketEnd::kSparse);
  const auto whole = layoutOf(HandMadeStep(0).bucket({2, 1, 0}, 0));
  EXPECT_EQ(bucketCap(whole, 0).end, BucketEnd::kNoLimit);
  const auto single = layoutOf(HandMadeStep(0).bucket({0}, 0));
  EXPECT_EQ(bucketCap(single, 0).end, BucketEnd::kNoLimit) << "it may be all there is";
}

std::vector<trace::ParametersMessage::Parameter> fourOf100Bytes() {
  return std::vector<trace::ParametersMessage::Parameter>(
      4, {.name = "p", .shape = {25}, .dtype = "float32", .numel = 25, .bytes = 100});
}

// Caps 100 and 200: the rebuild walks 3 2 1 0; 3 alone closes the first bucket, 2 and 1 the second.
TEST(BucketPreview, IsOneBucketAtConstructionAndCappedOnesAfterTheRebuild) {
  const auto layouts = previewLayouts(fourOf100Bytes(), {.caps = {100, 200, {}}});
  ASSERT_EQ(layouts.size(), 2u);
  ASSERT_EQ(layouts[0].buckets.size(), 1u);
  EXPECT_EQ(layouts[0].buckets[0].bytes, 400u);
  EXPECT_EQ(layouts[0].buckets[0].limitBytes, 0u);
  ASSERT_EQ(layouts[1].buckets.size(), 3u);
  EXPECT_EQ(layouts[1].buckets[0].parameters, (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(layouts[1].buckets[1].parameters, (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(layouts[1].buckets[1].offsets, (std::vector<std::uint64_t>{0, 100}));
  EXPECT_EQ(layouts[1].buckets[2].parameters, (std::vector<std::uint32_t>{0}));
}

// Searching unused parameters there is no rebuild: the construction has the limits, in the order
// of registration, and is then reversed: the small bucket is launched last.
TEST(BucketPreview, HasNoRebuildWhereUnusedParametersAreSearched) {
  const auto layouts =
      previewLayouts(fourOf100Bytes(), {.caps = {100, 200, {}}, .findUnusedParameters = true});
  ASSERT_EQ(layouts.size(), 1u);
  ASSERT_EQ(layouts[0].buckets.size(), 3u);
  EXPECT_EQ(layouts[0].buckets[2].parameters, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(layouts[0].buckets[2].limitBytes, 100u);
}

}  // namespace
}  // namespace lockstep::analysis

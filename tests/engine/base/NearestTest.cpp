#include "engine/base/Nearest.h"

#include <gtest/gtest.h>

namespace lockstep::base {
namespace {

TEST(Nearest, CountsEditsWithSwapsAsOne) {
  EXPECT_EQ(editDistance("", ""), 0U);
  EXPECT_EQ(editDistance("steps", "steps"), 0U);
  EXPECT_EQ(editDistance("", "abc"), 3U);
  EXPECT_EQ(editDistance("stpes", "steps"), 1U);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3U);
}

TEST(Nearest, TakesCaseAndDashesAndShortenedWordsForSmallDifferences) {
  EXPECT_EQ(unlikeness("Bucket-Cap", "bucket_cap"), 0U);
  EXPECT_EQ(unlikeness("batch", "batch_size"), 2U);
  EXPECT_EQ(unlikeness("zebra", "batch_size"), std::nullopt);
}

TEST(Nearest, PicksTheNearestCandidateOrNone) {
  EXPECT_EQ(nearestOf("powersdg", {"fp16", "powersgd", "topk"}), "powersgd");
  EXPECT_EQ(nearestOf("zebra", {"fp16", "powersgd", "topk"}), "");
}

}  // namespace
}  // namespace lockstep::base

#include "engine/analysis/ReadyOrder.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeStep.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

std::vector<std::uint32_t> parametersOf(const ReadyOrder& order) {
  std::vector<std::uint32_t> found;
  for (const ReadyGradient& gradient : order.gradients) {
    found.push_back(gradient.parameter);
  }
  return found;
}

template <typename Flag>
std::vector<std::uint32_t> marked(const ReadyOrder& order, Flag flag) {
  std::vector<std::uint32_t> found;
  for (const ReadyGradient& gradient : order.gradients) {
    if (gradient.*flag) {
      found.push_back(gradient.parameter);
    }
  }
  return found;
}

using Parameters = std::vector<std::uint32_t>;

TEST(ReadyOrder, FollowsTheTimesAndNotTheOrderOfTheRecords) {
  HandMadeStep step(1);
  step.ready(0, 0, 300).ready(0, 2, 100).ready(0, 1, 200);
  const auto orders = readyOrders(step.ranks, 0, nullptr);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(parametersOf(orders[0]), (Parameters{2, 1, 0}));
  EXPECT_EQ(orders[0].gradients[0].ticks, 100u);
  EXPECT_EQ(orders[0].gradients[0].bucket, trace::kNoBucket) << "without a layout";
}

TEST(ReadyOrder, LeavesOutOtherSteps) {
  HandMadeStep step(1);
  step.ready(0, 0, 100, 7).ready(0, 1, 200, 8);
  EXPECT_EQ(parametersOf(readyOrders(step.ranks, 8, nullptr)[0]), (Parameters{1}));
}

TEST(ReadyOrder, TakesTheLastOfSeveralReportsOfOneParameter) {
  HandMadeStep step(1);
  step.ready(0, 0, 100).ready(0, 1, 200).ready(0, 0, 300);
  const auto orders = readyOrders(step.ranks, 0, nullptr);
  EXPECT_EQ(parametersOf(orders[0]), (Parameters{1, 0}));
}

TEST(ReadyOrder, SaysWhichParametersWereReadyWithoutAGradient) {
  HandMadeStep step(1);
  step.ready(0, 0, 100).add(0, EventKind::kMarkedUnused, 110, 110, trace::kNoBucket, 1);
  const auto orders = readyOrders(step.ranks, 0, nullptr);
  EXPECT_FALSE(orders[0].gradients[0].unused);
  EXPECT_TRUE(orders[0].gradients[1].unused);
}

// Registered 0 1 2 3; buckets {3, 2} {1, 0}. Ready on rank 0: 2 3 1 0, on rank 1: 3 1 2 0.
// Rank 0: in bucket order, for inside a bucket any order will do. Against the reverse of the
//   registration 3 2 1 0 one has to move, 2 or 3: then the other stands right.
// Rank 1: buckets 0 1 0 1: one has to move, 1 or 2. The reverse of the registration: 3 1 2 0, one
//   of 1 and 2. Against rank 0 (2 3 1 0): places 1 2 0 3, and only 2 has to move.
TEST(ReadyOrder, MarksTheFewestThatWouldHaveToMove) {
  HandMadeStep step(2);
  step.bucket({3, 2}).bucket({1, 0});
  step.ready(0, 2, 100).ready(0, 3, 200).ready(0, 1, 300).ready(0, 0, 400);
  step.ready(1, 3, 100).ready(1, 1, 200).ready(1, 2, 300).ready(1, 0, 400);
  const auto orders = readyOrders(step.ranks, 0, &step.layout);
  EXPECT_EQ(orders[0].againstBuckets, 0u);
  EXPECT_EQ(orders[0].againstRegistration, 1u);
  EXPECT_EQ(orders[0].againstFirstRank, 0u);
  EXPECT_EQ(orders[1].againstBuckets, 1u);
  EXPECT_EQ(orders[1].againstRegistration, 1u);
  EXPECT_EQ(orders[1].againstFirstRank, 1u);
  EXPECT_EQ(marked(orders[1], &ReadyGradient::againstFirstRank), (Parameters{2}));
}

// Buckets {2} {1, 0}; ready 1 0 2: bucket 0's only gradient is the last. Not the two that were in
// time are out of place, but the late one.
TEST(ReadyOrder, MarksTheLateOneAndNotThoseBeforeIt) {
  HandMadeStep step(1);
  step.bucket({2}).bucket({1, 0});
  step.ready(0, 1, 100).ready(0, 0, 200).ready(0, 2, 300);
  const auto orders = readyOrders(step.ranks, 0, &step.layout);
  EXPECT_EQ(marked(orders[0], &ReadyGradient::againstBuckets), (Parameters{2}));
}

TEST(ReadyOrder, ComparesOnlyWhatBothRanksHave) {
  HandMadeStep step(2);
  step.ready(0, 2, 100).ready(0, 0, 200);
  step.ready(1, 2, 100).ready(1, 1, 200).ready(1, 0, 300);
  EXPECT_EQ(readyOrders(step.ranks, 0, nullptr)[1].againstFirstRank, 0u);
}

TEST(ReadyOrder, IsEmptyOnARankWithoutGradients) {
  const auto orders = readyOrders(HandMadeStep(2).ranks, 0, nullptr);
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[1].rank, 1);
  EXPECT_TRUE(orders[1].gradients.empty());
}

TEST(OutOfPlace, KeepsOneLongestSubsequenceThatNeverFalls) {
  EXPECT_EQ(outOfPlace({}), std::vector<bool>());
  EXPECT_EQ(outOfPlace({4, 4, 4}), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(outOfPlace({3, 0, 1, 2}), (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(outOfPlace({0, 3, 1, 2}), (std::vector<bool>{false, true, false, false}));
}

}  // namespace
}  // namespace lockstep::analysis

#include "engine/buckets/Assign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace lockstep::buckets {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

TensorSpec floats(std::uint64_t numel) {
  return {numel * 4, "float32", "cpu", false};
}
TensorSpec doubles(std::uint64_t numel) {
  return {numel * 8, "float64", "cpu", false};
}

std::vector<std::uint64_t> limitsOf(const BucketPlan& plan) {
  std::vector<std::uint64_t> limits;
  for (const auto& bucket : plan.buckets) {
    limits.push_back(bucket.limitBytes);
  }
  return limits;
}

// The four cases of c10d's ComputeBucketAssignmentTest.

TEST(AssignBuckets, ClosesABucketWhenItReachesTheSingleLimit) {
  const auto plan = assignBuckets({floats(100), floats(200), floats(100), floats(50)}, {400});
  EXPECT_EQ(plan.indices(), (Lists{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(limitsOf(plan), (std::vector<std::uint64_t>{400, 400, 400, 400}));
}

TEST(AssignBuckets, KeepsDtypesApartUnderOneLimit) {
  const auto plan = assignBuckets(
      {floats(50), doubles(25), floats(50), doubles(25), floats(50), doubles(25)}, {400});
  EXPECT_EQ(plan.indices(), (Lists{{0, 2}, {1, 3}, {4}, {5}}));
  EXPECT_EQ(plan.buckets[1].dtype, "float64");
}

TEST(AssignBuckets, StaysOnTheLastOfSeveralLimits) {
  const auto plan = assignBuckets({floats(10), floats(10), floats(10), floats(10)}, {40, 80});
  EXPECT_EQ(plan.indices(), (Lists{{0}, {1, 2}, {3}}));
  EXPECT_EQ(limitsOf(plan), (std::vector<std::uint64_t>{40, 80, 80}));
}

TEST(AssignBuckets, GivesEachDtypeItsOwnWalkThroughTheLimits) {
  const auto plan = assignBuckets(
      {floats(50), doubles(25), floats(50), doubles(25), floats(50), doubles(25)}, {200, 400});
  EXPECT_EQ(plan.indices(), (Lists{{0}, {1}, {2, 4}, {3, 5}}));
  EXPECT_EQ(limitsOf(plan), (std::vector<std::uint64_t>{200, 200, 400, 400}));
}

TEST(AssignBuckets, KeepsDevicesApart) {
  auto onGpu = floats(10);
  onGpu.device = "cuda:0";
  const auto plan = assignBuckets({floats(10), onGpu, floats(10)}, {kUnlimited});
  EXPECT_EQ(plan.indices(), (Lists{{0, 2}, {1}}));
}

TEST(AssignBuckets, NeverSplitsATensorSoThatABucketMayOvershoot) {
  // A cap of 0.7 MiB with tensors of 360 kB makes buckets of 1.08 MB.
  const std::uint64_t cap = capBytes(0.7).value();
  const auto plan =
      assignBuckets(std::vector<TensorSpec>(6, TensorSpec{360'000, "float32"}), {cap});
  EXPECT_EQ(plan.indices(), (Lists{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(plan.buckets[0].bytes, 1'080'000u);
}

TEST(AssignBuckets, GivesAnExpectedSparseGradientABucketOfItsOwn) {
  auto sparse = floats(5);
  sparse.sparse = true;
  const auto plan = assignBuckets({floats(1), sparse, floats(1)}, {1000});
  EXPECT_EQ(plan.indices(), (Lists{{0, 2}, {1}}));
  EXPECT_EQ(plan.buckets[1].limitBytes, 0u);
}

TEST(AssignBuckets, KeepsClosingOrderWhenAnOrderIsGiven) {
  const auto plan = assignBuckets({floats(10), floats(10), doubles(1), floats(10)}, {40, 80},
                                  std::vector<std::uint32_t>{3, 1, 2, 0});
  EXPECT_EQ(plan.indices(), (Lists{{3}, {1, 0}, {2}}));
}

TEST(AssignBuckets, AppendsLeftOversOfTheKindThatCameLastFirst) {
  const auto plan = assignBuckets({floats(1), doubles(1), floats(1)}, {1000},
                                  std::vector<std::uint32_t>{2, 1, 0});
  EXPECT_EQ(plan.indices(), (Lists{{1}, {2, 0}}));
}

TEST(AssignBuckets, GivesNoBucketsForNoTensors) {
  EXPECT_TRUE(assignBuckets({}, {1}).buckets.empty());
}

TEST(PlanConstruction, PutsOneDtypeIntoOneUnlimitedBucketUnderTheRuleOf113) {
  const auto plan = planConstruction({floats(1 << 20), floats(1 << 20)}, BucketRule::kC10d113,
                                     {1 << 10, 1 << 12, {}});
  EXPECT_EQ(plan.indices(), (Lists{{0, 1}}));
  EXPECT_EQ(plan.buckets[0].limitBytes, kUnlimited);
}

TEST(PlanConstruction, ReversesTheBucketsButNotTheirContents) {
  const auto plan = planConstruction({floats(10), floats(10), floats(10), floats(10)},
                                     BucketRule::kC10d19, {40, 80, {}});
  EXPECT_EQ(plan.indices(), (Lists{{3}, {1, 2}, {0}}));
  EXPECT_EQ(limitsOf(plan), (std::vector<std::uint64_t>{80, 80, 40}));
}

TEST(PlanRebuild, MakesTheFirstReadyBucketTheSmallOne) {
  const auto plan =
      planRebuild({floats(10), floats(10), floats(10), floats(10)}, {3, 2, 1, 0}, {40, 80, {}});
  EXPECT_EQ(plan.indices(), (Lists{{3}, {2, 1}, {0}}));
  EXPECT_EQ(limitsOf(plan), (std::vector<std::uint64_t>{40, 80, 80}));
}

TEST(CapBytes, TruncatesToWholeBytes) {
  EXPECT_EQ(capBytes(25).value(), 25u * 1048576u);
  EXPECT_EQ(capBytes(0.001).value(), 1048u);
  EXPECT_EQ(capBytes(0).value(), 0u);
}

TEST(CapBytes, RefusesWhatIsNoSize) {
  for (const double bad : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    const auto result = capBytes(bad);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message(), testing::HasSubstr("is not possible"));
  }
}

TEST(BucketRuleName, ReadsBothNamesAndListsThemOnAMistake) {
  EXPECT_EQ(bucketRule("c10d-1.13").value(), BucketRule::kC10d113);
  EXPECT_EQ(bucketRule("c10d-1.9").value(), BucketRule::kC10d19);
  EXPECT_EQ(bucketRule("1.9").error().message(),
            "ddp.bucket_rule: unknown bucket rule '1.9'; use c10d-1.13 or c10d-1.9");
}

TEST(PlanWithAList, TakesItsLimitsInTurnAndRepeatsTheLastFromTheFirstIterationOn) {
  const std::vector<TensorSpec> tensors(5, TensorSpec{100, "float32", "cpu", false});
  BucketCaps caps;
  caps.list = {100, 200};
  EXPECT_EQ(planConstruction(tensors, BucketRule::kC10d113, caps).indices(),
            (std::vector<std::vector<std::uint32_t>>{{3, 4}, {1, 2}, {0}}));
  EXPECT_EQ(planRebuild(tensors, {4, 3, 2, 1, 0}, caps).indices(),
            (std::vector<std::vector<std::uint32_t>>{{4}, {3, 2}, {1, 0}}));
}

}  // namespace
}  // namespace lockstep::buckets

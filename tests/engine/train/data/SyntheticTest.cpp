#include "engine/train/data/ReadDatasets.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace lockstep::train {
namespace {

const DataShape kShape{{3, 4, 5}, c10::kFloat, 7};

std::vector<std::int64_t> firstIndices(std::int64_t count) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

TEST(SyntheticDatasets, AreTheSameForTheSameSeedAndOthersForAnother) {
  const auto indices = firstIndices(50);
  const Batch a = syntheticDatasets(kShape, 100, 5).train->batch(indices);
  const Batch b = syntheticDatasets(kShape, 100, 5).train->batch(indices);
  const Batch c = syntheticDatasets(kShape, 100, 6).train->batch(indices);
  EXPECT_EQ(a.input.sizes(), at::IntArrayRef({50, 3, 4, 5}));
  EXPECT_TRUE(a.input.equal(b.input));
  EXPECT_TRUE(a.target.equal(b.target));
  EXPECT_FALSE(a.input.equal(c.input));
}

TEST(SyntheticDatasets, HaveEveryClassAndATestSetOfOtherSamples) {
  const auto sets = syntheticDatasets(kShape, 400, 0);
  EXPECT_EQ(sets.test->size(), 100);
  const Batch train = sets.train->batch(firstIndices(400));
  EXPECT_EQ(train.target.min().item<int>(), 0);
  EXPECT_EQ(train.target.max().item<int>(), 6);
  EXPECT_FALSE(sets.test->batch({0}).input.equal(sets.train->batch({0}).input));
}

TEST(SyntheticDatasets, CanBeTakenApartByTheMeansOfTheClasses) {
  const auto sets = syntheticDatasets(kShape, 2000, 1);
  const Batch train = sets.train->batch(firstIndices(2000));
  const at::Tensor flat = train.input.flatten(1);
  at::Tensor means = at::zeros({7, 60});
  for (int c = 0; c < 7; ++c) {
    means[c] = flat.index_select(0, train.target.eq(c).nonzero().squeeze(1)).mean(0);
  }
  const Batch test = sets.test->batch(firstIndices(500));
  const at::Tensor nearest = at::cdist(test.input.flatten(1), means).argmin(1);
  EXPECT_GT(nearest.eq(test.target).to(at::kFloat).mean().item<float>(), 0.9f);
}

}  // namespace
}  // namespace lockstep::train

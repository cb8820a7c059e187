#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "engine/hooks/CommHook.h"

namespace lockstep::hooks {
namespace {

GradBucket bucketOf(at::Tensor buffer, std::size_t index, std::size_t count,
                    const std::vector<at::Tensor>& parameters) {
  std::vector<std::int64_t> offsets, lengths;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::uint32_t> indices;
  std::int64_t offset = 0;
  for (const at::Tensor& parameter : parameters) {
    offsets.push_back(offset);
    lengths.push_back(parameter.numel());
    shapes.push_back(parameter.sizes().vec());
    indices.push_back(static_cast<std::uint32_t>(indices.size()));
    offset += parameter.numel();
  }
  return {index, count, 9, std::move(buffer), offsets, lengths, shapes, parameters, indices};
}

TEST(GradBucket, GivesEachGradientAsAViewInItsParametersShape) {
  const auto buffer = at::arange(10, at::kFloat);
  auto bucket = bucketOf(buffer, 0, 2, {at::zeros({2, 3}), at::zeros({4})});
  const auto gradients = bucket.gradients();
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_TRUE(at::equal(gradients[0], at::arange(6, at::kFloat).view({2, 3})));
  EXPECT_TRUE(at::equal(gradients[1], at::arange(6, 10, at::kFloat)));
  gradients[1].zero_();
  EXPECT_EQ(buffer[9].item<float>(), 0);
}

TEST(GradBucket, GivesGradientsInTheStridesOfADenseParameter) {
  const auto parameter = at::zeros({1, 2, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  auto bucket = bucketOf(at::arange(8, at::kFloat), 0, 1, {parameter});
  EXPECT_EQ(bucket.gradients()[0].strides(), parameter.strides());
  EXPECT_EQ(bucket.gradients()[0].data_ptr(), bucket.buffer().data_ptr());
}

TEST(GradBucket, GivesGradientsOfTheBufferThatAHookSet) {
  auto bucket = bucketOf(at::zeros({2}), 0, 1, {at::zeros({2})});
  bucket.setBuffer(at::ones({2}));
  EXPECT_TRUE(at::equal(bucket.gradients()[0], at::ones({2})));
}

TEST(GradBucket, KnowsWhetherItIsTheLastOfTheStep) {
  EXPECT_FALSE(bucketOf(at::zeros({1}), 0, 2, {at::zeros({1})}).isLast());
  EXPECT_TRUE(bucketOf(at::zeros({1}), 1, 2, {at::zeros({1})}).isLast());
  EXPECT_EQ(bucketOf(at::zeros({1}), 1, 2, {at::zeros({1})}).step(), 9u);
}

TEST(GradBucketDeathTest, EndsTheProcessWhenListsDoNotMatch) {
  EXPECT_DEATH(GradBucket(3, 4, 0, at::zeros({1}), {0}, {}, {{1}}, {at::zeros({1})}, {0}),
               "bucket 3: 1 offsets, 0 lengths, 1 shapes, 1 indices for 1 parameters");
}

}  // namespace
}  // namespace lockstep::hooks

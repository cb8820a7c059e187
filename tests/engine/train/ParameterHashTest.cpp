#include "engine/train/Fingerprint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

namespace lockstep::train {
namespace {

std::string hashOf(const std::vector<std::pair<std::string, at::Tensor>>& parameters) {
  torch::nn::Module module;
  for (const auto& [name, tensor] : parameters) {
    module.register_parameter(name, tensor, false);
  }
  return parameterHash(module);
}

TEST(ParameterHash, DependsOnNamesDtypesShapesAndEveryBit) {
  const auto base = hashOf({{"a", at::ones({2, 3})}, {"b", at::zeros({4})}});
  EXPECT_EQ(base.size(), 16u);
  EXPECT_EQ(hashOf({{"a", at::ones({2, 3})}, {"b", at::zeros({4})}}), base);
  EXPECT_NE(hashOf({{"x", at::ones({2, 3})}, {"b", at::zeros({4})}}), base);
  EXPECT_NE(hashOf({{"a", at::ones({3, 2})}, {"b", at::zeros({4})}}), base);
  EXPECT_NE(hashOf({{"a", at::ones({2, 3})}, {"b", at::zeros({2}, at::kDouble)}}), base);
  at::Tensor almost = at::ones({2, 3});
  almost[1][2] = 1.0f + 1.2e-7f;
  EXPECT_NE(hashOf({{"a", almost}, {"b", at::zeros({4})}}), base);
  EXPECT_NE(hashOf({{"a", at::ones({2, 3})}, {"b", -at::zeros({4})}}), base);
}

TEST(ParameterHash, DoesNotDependOnStrides) {
  const at::Tensor rows = at::arange(6, at::kFloat).view({2, 3});
  const at::Tensor columns = rows.t().contiguous().t();
  ASSERT_NE(rows.strides(), columns.strides());
  EXPECT_EQ(hashOf({{"a", rows}}), hashOf({{"a", columns}}));
}

}  // namespace
}  // namespace lockstep::train

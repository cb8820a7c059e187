#include "engine/train/models/Mlp.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep::train {
namespace {

TEST(Branching, TakesTheBranchInEveryOtherTrainingForward) {
  Branching model({6, 5, 3});
  const at::Tensor input = torch::randn({2, 6});
  for (int step = 0; step < 4; ++step) {
    model.zero_grad();
    model.forward(input).sum().backward();
    for (const auto& parameter : model.named_parameters()) {
      const bool branch = parameter.key().starts_with("branch.");
      const at::Tensor& gradient = parameter.value().grad();
      const bool used = gradient.defined() && gradient.abs().sum().item<float>() > 0;
      EXPECT_EQ(used, !branch || step % 2 == 0) << parameter.key() << " in step " << step;
    }
  }
}

TEST(Branching, AlwaysTakesTheBranchInAnEvaluation) {
  Branching model({6, 3});
  const at::Tensor input = torch::randn({2, 6});
  const at::Tensor first = model.forward(input);
  model.eval();
  EXPECT_TRUE(model.forward(input).equal(first));
  EXPECT_TRUE(model.forward(input).equal(first));
}

}  // namespace
}  // namespace lockstep::train

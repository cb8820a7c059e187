#include "engine/train/models/CharGpt.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep::train {
namespace {

using Checkpointing = CharGpt::Checkpointing;

CharGpt::Options options(bool shareBlocks, Checkpointing checkpointing) {
  CharGpt::Options options;
  options.vocabulary = 20;
  options.context = 8;
  options.embedding = 16;
  options.heads = 2;
  options.depth = 3;
  options.shareBlocks = shareBlocks;
  options.checkpointing = checkpointing;
  return options;
}

/// The loss of one model and its gradients, by name.
std::pair<at::Tensor, std::map<std::string, at::Tensor>> trainOnce(bool shareBlocks,
                                                                   Checkpointing checkpointing) {
  torch::manual_seed(3);
  CharGpt model(options(shareBlocks, checkpointing));
  const at::Tensor input = at::arange(16).view({2, 8});
  const at::Tensor loss = model.loss(model.forward(input), input);
  loss.backward();
  std::map<std::string, at::Tensor> gradients;
  for (const auto& parameter : model.named_parameters()) {
    gradients[parameter.key()] = parameter.value().grad();
  }
  return {loss.detach(), gradients};
}

TEST(CharGpt, HasTheGradientsOfAModelThatKeepsItsActivations) {
  for (const bool share : {false, true}) {
    const auto [loss, expected] = trainOnce(share, Checkpointing::kNone);
    for (const auto checkpointing : {Checkpointing::kReentrant, Checkpointing::kNonReentrant}) {
      const auto [ownLoss, gradients] = trainOnce(share, checkpointing);
      EXPECT_TRUE(at::allclose(ownLoss, loss));
      for (const auto& [name, gradient] : expected) {
        ASSERT_TRUE(gradients.at(name).defined()) << name;
        EXPECT_TRUE(at::allclose(gradients.at(name), gradient, 1e-4, 1e-6)) << name;
      }
    }
  }
}

TEST(CharGpt, UsesOneBlockDepthTimesWhenItsBlocksAreShared) {
  const auto count = [](bool share) {
    return CharGpt(options(share, Checkpointing::kNone)).named_parameters().size();
  };
  const std::size_t ofOneBlock = 12;
  EXPECT_EQ(count(false), count(true) + 2 * ofOneBlock);
  EXPECT_FALSE(at::allclose(trainOnce(true, Checkpointing::kNone).first,
                            trainOnce(false, Checkpointing::kNone).first));
}

TEST(CharGpt, EvaluatesWithoutCheckpoints) {
  CharGpt model(options(false, Checkpointing::kNonReentrant));
  model.eval();
  torch::NoGradGuard noGrad;
  EXPECT_FALSE(model.forward(at::arange(8).view({1, 8})).requires_grad());
}

}  // namespace
}  // namespace lockstep::train

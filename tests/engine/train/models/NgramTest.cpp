#include "engine/train/models/Ngram.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep::train {
namespace {

TEST(Ngram, PredictsFromTheLastFourCharactersAlone) {
  Ngram model(50, 1000, 8, true);
  at::Tensor input = torch::randint(50, {2, 12}, at::kLong);
  const at::Tensor before = model.forward(input);
  EXPECT_EQ(before.sizes(), at::IntArrayRef({2, 12, 50}));
  input.select(1, 5).copy_((input.select(1, 5) + 1).remainder(50));
  const at::Tensor after = model.forward(input);
  for (int t = 0; t < 12; ++t) {
    const bool sees = t >= 5 && t <= 8;
    EXPECT_EQ(before.select(1, t).equal(after.select(1, t)), !sees) << "position " << t;
  }
}

TEST(Ngram, GivesTheTableAGradientOfTheRowsUsed) {
  const at::Tensor input = torch::randint(50, {2, 6}, at::kLong);
  torch::manual_seed(1);
  Ngram sparse(50, 1000, 8, true);
  torch::manual_seed(1);
  Ngram dense(50, 1000, 8, false);
  sparse.forward(input).square().sum().backward();
  dense.forward(input).square().sum().backward();
  const at::Tensor gradient = sparse.named_parameters()["table.weight"].grad();
  ASSERT_TRUE(gradient.is_sparse());
  EXPECT_LE(gradient.coalesce().indices().size(1), 2 * 6 * 4);
  EXPECT_TRUE(at::allclose(gradient.to_dense(), dense.named_parameters()["table.weight"].grad()));
}

TEST(Ngram, TakesASampleShorterThanItsLongestNgram) {
  Ngram model(50, 1000, 8, true);
  EXPECT_EQ(model.forward(torch::randint(50, {3, 1}, at::kLong)).sizes(),
            at::IntArrayRef({3, 1, 50}));
}

}  // namespace
}  // namespace lockstep::train

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/SparseExchange.h"
#include "tests/engine/ddp/LoopbackGroup.h"
#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

struct Words : torch::nn::Module {
  Words()
      : table(register_module(
            "table", torch::nn::Embedding(torch::nn::EmbeddingOptions(6, 3).sparse(true)))),
        fc(register_module("fc", torch::nn::Linear(3, 2))) {
    test::fill(*this, 1);
  }
  at::Tensor forward(const at::Tensor& words) { return fc->forward(table->forward(words)); }
  torch::nn::Embedding table;
  torch::nn::Linear fc;
};

at::Tensor words(std::vector<std::int64_t> list) {
  return at::tensor(list);
}

TEST(SparseExchange, SumsEntriesOfDifferentCountsAndNone) {
  test::runRanksWell(3, [](auto group) {
    at::Tensor own;
    if (group->rank() != 1) {
      own = at::sparse_coo_tensor(words({4, group->rank(), 4}).unsqueeze(0),
                                  at::ones({3, 2}, at::kDouble), {5, 2});
    }
    const at::Tensor sum = sumSparse(*group, own, {5, 2}, at::kDouble, {});
    EXPECT_TRUE(sum.is_coalesced());
    at::Tensor expected = at::zeros({5, 2}, at::kDouble);
    expected[0] = 1;
    expected[2] = 1;
    expected[4] = 4;
    EXPECT_TRUE(at::equal(sum.to_dense(), expected));
    EXPECT_EQ(sumSparse(*group, {}, {5, 2}, at::kFloat, {})._nnz(), 0);
  });
}

TEST(SparseGradients, AreAveragedAsSparseTensorsBesideDenseOnes) {
  for (const bool view : {false, true}) {
    test::runRanksWell(2, [&](auto group) {
      DdpOptions options;
      options.gradientAsBucketView = view;
      auto net = std::make_shared<Words>();
      DistributedDataParallel ddp(net, group, options);
      for (int i = 0; i < 3; ++i) {
        net->zero_grad();
        net->table->weight.mutable_grad().reset();
        ddp.forward<Words>(group->rank() == 0 ? words({1, 2}) : words({2, 2, 5})).sum().backward();
        ddp.checkFinalized();
        Words alone;
        (alone.forward(words({1, 2})).sum() / 2 + alone.forward(words({2, 2, 5})).sum() / 2)
            .backward();
        ASSERT_TRUE(net->table->weight.grad().is_sparse());
        EXPECT_TRUE(at::allclose(net->table->weight.grad().to_dense(),
                                 alone.table->weight.grad().to_dense()));
        EXPECT_TRUE(at::allclose(net->fc->weight.grad(), alone.fc->weight.grad()));
      }
      EXPECT_EQ(ddp.plan().buckets.size(), 2u);
      EXPECT_TRUE(ddp.hasRebuiltBuckets());
    });
  }
}

TEST(SparseGradients, OfARankThatUsedNoneCountAsZero) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options;
    options.findUnusedParameters = true;
    auto net = std::make_shared<Words>();
    DistributedDataParallel ddp(net, group, options);
    auto output = ddp.run([&] {
      return group->rank() == 0 ? net->forward(words({3})) : net->fc->forward(at::ones({1, 3}));
    });
    output.sum().backward();
    ddp.checkFinalized();
    Words alone;
    (alone.forward(words({3})).sum() / 2).backward();
    EXPECT_TRUE(
        at::allclose(net->table->weight.grad().to_dense(), alone.table->weight.grad().to_dense()));
  });
}

TEST(SparseGradients, OfNoRankLeaveTheGradientAlone) {
  test::runRanksWell(2, [](auto group) {
    DdpOptions options;
    options.findUnusedParameters = true;
    auto net = std::make_shared<Words>();
    DistributedDataParallel ddp(net, group, options);
    auto output = ddp.run([&] { return net->fc->forward(at::ones({1, 3})); });
    output.sum().backward();
    EXPECT_FALSE(net->table->weight.grad().defined());
  });
}

TEST(SparseGradientErrors, NameADenseGradientThatWasDeclaredSparse) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<Words>();
                               DistributedDataParallel ddp(net, group);
                               net->table->options.sparse(false);
                               ddp.forward<Words>(words({1})).sum().backward();
                             }),
              Each(AllOf(HasSubstr("parameter 'table.weight' (0)"), HasSubstr("declared sparse"))));
}

TEST(SparseGradientErrors, NameAGradientThatIsSparseInOtherWaysThanRows) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<Words>();
                               DistributedDataParallel ddp(net, group);
                               net->table->weight.register_hook([](const at::Tensor& gradient) {
                                 return gradient.to_dense().to_sparse();
                               });
                               ddp.forward<Words>(words({1})).sum().backward();
                             }),
              Each(HasSubstr("parameter 'table.weight' (0) was declared sparse (rows) and is "
                             "sparse in several dimensions")));
}

TEST(SparseGradientErrors, NameTheRankThatDeclaresOtherwise) {
  EXPECT_THAT(test::runRanks(2,
                             [](auto group) {
                               auto net = std::make_shared<Words>();
                               net->table->options.sparse(group->rank() == 0);
                               DistributedDataParallel ddp(net, group);
                             }),
              Each(AllOf(HasSubstr("'table.weight' (0), float32 [6, 3]"),
                         HasSubstr("sparse gradient; rank 1"))));
}

}  // namespace
}  // namespace lockstep::ddp

#include "engine/ddp/CoalescedBroadcast.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/engine/ddp/LoopbackGroup.h"

namespace lockstep::ddp {
namespace {

/// Contiguous, strided, scalar and empty tensors of three dtypes.
std::vector<at::Tensor> assorted(int rank) {
  return {at::full({3, 4}, rank + 1.0),
          at::full({6}, rank + 2.0).slice(0, 0, 6, 2),
          at::full({}, rank + 3, at::kLong),
          at::full({5}, rank + 4.0, at::kDouble),
          at::empty({0}),
          at::full({2, 3}, rank + 5.0).t()};
}

TEST(BroadcastCoalesced, GivesEveryRankTheRootsTensors) {
  for (const int root : {0, 1, 2}) {
    for (const std::uint64_t bytes :
         {1ull, 50ull, static_cast<unsigned long long>(kBroadcastBytes)}) {
      test::runRanksWell(3, [&](auto group) {
        const auto tensors = assorted(group->rank());
        broadcastCoalesced(*group, tensors, root, bytes);
        const auto expected = assorted(root);
        for (std::size_t i = 0; i < tensors.size(); ++i) {
          EXPECT_TRUE(at::equal(tensors[i], expected[i])) << "tensor " << i << ", root " << root;
        }
      });
    }
  }
}

TEST(BroadcastCoalesced, PacksWhatSharesADtypeIntoOneBroadcast) {
  test::runRanksWell(2, [](auto group) {
    broadcastCoalesced(*group, assorted(group->rank()), 0);
    EXPECT_EQ(group->broadcasts(), 3);  // float32, int64, float64
  });
}

TEST(BroadcastCoalesced, WritesIntoParametersThatRequireGradients) {
  test::runRanksWell(2, [](auto group) {
    std::vector<at::Tensor> tensors{at::full({2}, group->rank() * 1.0).requires_grad_(),
                                    at::full({2}, group->rank() * 1.0).requires_grad_()};
    broadcastCoalesced(*group, tensors, 1);
    EXPECT_TRUE(at::equal(tensors[0], at::ones({2})));
    EXPECT_TRUE(tensors[0].requires_grad());
  });
}

}  // namespace
}  // namespace lockstep::ddp

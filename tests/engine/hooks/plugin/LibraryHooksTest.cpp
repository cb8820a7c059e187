#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <mutex>
#include <set>

#include "tests/engine/hooks/plugin/HookRanks.h"

namespace lockstep::hooks {
namespace {

using test::builtHook;
using test::HookRank;
using test::runHooks;
using testing::Each;

constexpr std::int64_t kLibraryCount = 10007;

/// What each rank got, to compare bit by bit.
class Results {
 public:
  void add(const at::Tensor& tensor) {
    std::lock_guard lock(mutex_);
    all_.emplace(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  }
  [[nodiscard]] std::size_t different() const { return all_.size(); }

 private:
  std::mutex mutex_;
  std::set<std::string> all_;
};

class Worlds : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Worlds, testing::Values(1, 2, 3, 4));

TEST_P(Worlds, AllreduceGivesTheMeanToAllRanks) {
  Results results;
  const auto errors =
      runHooks(GetParam(), {builtHook("hooks/allreduce.so", "allreduce")}, [&](HookRank& rank) {
        const at::Tensor mean = rank.average(test::gradients(kLibraryCount, rank.rank));
        EXPECT_TRUE(at::allclose(mean, test::meanGradients(kLibraryCount, rank.world), 1e-5, 1e-6));
        results.add(mean);
      });
  EXPECT_THAT(errors, Each(""));
  EXPECT_EQ(results.different(), 1U);
}

bool drifts(const plugin::HookChoice& choice) {
  bool said = false;
  const auto errors = runHooks(1, choice, [&](HookRank& rank) { said = rank.hook->replicasDrift(); });
  EXPECT_THAT(errors, Each(""));
  return said;
}

TEST(LibraryHooks, ThoseThatLetReplicasDriftSayIt) {
  for (const char* id : {"gossip", "noop", "post_local_sgd"}) {
    EXPECT_TRUE(drifts({builtHook(std::string("hooks/") + id + ".so", id)})) << id;
  }
  for (const char* id : {"allreduce", "delayed", "fp16", "powersgd", "topk", "zero_rs"}) {
    EXPECT_FALSE(drifts({builtHook(std::string("hooks/") + id + ".so", id)})) << id;
  }
}

TEST(LibraryHooks, AHookDriftsIfTheOneInsideItDoes) {
  const auto fp16 = builtHook("hooks/fp16.so", "fp16");
  EXPECT_TRUE(drifts({fp16, builtHook("hooks/noop.so", "noop")}));
  EXPECT_FALSE(drifts({fp16, builtHook("hooks/allreduce.so", "allreduce")}));
}

TEST(LibraryHooks, AHookThatDoesNotSayItDriftsIsHeldToEqualReplicas) {
  EXPECT_FALSE(drifts({builtHook("broken_hooks/misbehaving.so", "misbehaving")}));
}

/// Rounds to half, divides in half, adds half by half in the order of the ranks.
at::Tensor halfModel(int world, at::ScalarType type) {
  at::Tensor sum;
  for (int rank = 0; rank < world; ++rank) {
    const at::Tensor share =
        (test::gradients(kLibraryCount, rank).to(type).to(at::kFloat) / world).to(type);
    sum = rank == 0 ? share : (sum.to(at::kFloat) + share.to(at::kFloat)).to(type);
  }
  return sum.to(at::kFloat);
}

struct HalfHook {
  const char* id;
  at::ScalarType type;
};

class Halves : public testing::TestWithParam<std::tuple<HalfHook, int>> {};
INSTANTIATE_TEST_SUITE_P(Hooks, Halves,
                         testing::Combine(testing::Values(HalfHook{"fp16", at::kHalf},
                                                          HalfHook{"bf16", at::kBFloat16}),
                                          testing::Values(1, 2)));

TEST_P(Halves, EqualTheScalarModelBitForBit) {
  const auto [half, world] = GetParam();
  const std::string file = std::string("hooks/") + half.id + ".so";
  const auto errors = runHooks(world, {builtHook(file, half.id)}, [&, half = half](HookRank& rank) {
    const at::Tensor mean = rank.average(test::gradients(kLibraryCount, rank.rank));
    EXPECT_TRUE(at::equal(mean, halfModel(rank.world, half.type)));
  });
  EXPECT_THAT(errors, Each(""));
}

TEST_P(Halves, AroundAllreduceEqualTheHookAloneBitForBit) {
  const auto [half, world] = GetParam();
  const std::string file = std::string("hooks/") + half.id + ".so";
  const auto errors =
      runHooks(world, {builtHook(file, half.id), builtHook("hooks/allreduce.so", "allreduce")},
               [&, half = half](HookRank& rank) {
                 EXPECT_EQ(rank.hook->name(), std::string(half.id) + "(allreduce)");
                 const at::Tensor mean = rank.average(test::gradients(kLibraryCount, rank.rank));
                 EXPECT_TRUE(at::equal(mean, halfModel(rank.world, half.type)));
               });
  EXPECT_THAT(errors, Each(""));
}

TEST(Fp16, CarriesInfinityToAllRanks) {
  const auto errors = runHooks(2, {builtHook("hooks/fp16.so", "fp16")}, [](HookRank& rank) {
    at::Tensor flat = at::zeros({8});
    if (rank.rank == 1) {
      flat[3].fill_(70000.0F);
    }
    const at::Tensor mean = rank.average(flat);
    EXPECT_EQ(mean[3].item<float>(), std::numeric_limits<float>::infinity());
    EXPECT_EQ(mean[2].item<float>(), 0);
  });
  EXPECT_THAT(errors, Each(""));
}

TEST(Noop, LeavesEachRankItsOwn) {
  const auto errors = runHooks(2, {builtHook("hooks/noop.so", "noop")}, [](HookRank& rank) {
    const at::Tensor own = test::gradients(kLibraryCount, rank.rank);
    EXPECT_TRUE(at::equal(rank.average(own.clone()), own));
  });
  EXPECT_THAT(errors, Each(""));
}

}  // namespace
}  // namespace lockstep::hooks

#include "engine/cost/LinkModel.h"

#include <gtest/gtest.h>

namespace lockstep::cost {
namespace {

using trace::Operation;

constexpr std::uint64_t kMillion = 1'000'000;

LinkOptions flat(double gbps, double latencyUs) {
  LinkOptions options;
  options.link = {gbps, latencyUs};
  return options;
}

TEST(LinkModel, TakesTheRingsTimeForAnAllreduce) {
  // 1 MB at 8 Gbit/s is 1 ms; 2 (n-1)/n of it, and 2 (n-1) hops.
  const LinkModel two(flat(8, 10), 0, 2);
  EXPECT_EQ(two.cost(Operation::kAllreduce, kMillion).linkNs, 1'000'000);
  EXPECT_EQ(two.cost(Operation::kAllreduce, kMillion).latencyNs, 20'000);
  const LinkModel four(flat(8, 10), 3, 4);
  EXPECT_EQ(four.cost(Operation::kAllreduce, kMillion).linkNs, 1'500'000);
  EXPECT_EQ(four.cost(Operation::kAllreduce, kMillion).latencyNs, 60'000);
}

TEST(LinkModel, AgreesWithAMeasuredNetworkOfTheLiterature) {
  // 56 Gbit/s InfiniBand, 8 ranks: 9.75e-5 s and 3.06e-10 s a byte for the whole allreduce.
  const LinkModel model(flat(1.75 * 8 / 0.306, 9.75e-5 * 1e6 / 14), 0, 8);
  const auto cost = model.cost(Operation::kAllreduce, 100 * kMillion);
  EXPECT_NEAR(static_cast<double>(cost.linkNs), 30.6e6, 1);
  EXPECT_NEAR(static_cast<double>(cost.latencyNs), 97.5e3, 1);
}

TEST(LinkModel, CountsHopsOfATreeForRootedOperations) {
  const LinkModel model(flat(8, 10), 0, 5);
  EXPECT_EQ(model.cost(Operation::kBroadcast, kMillion, 0).linkNs, 1'000'000);
  EXPECT_EQ(model.cost(Operation::kBroadcast, kMillion, 0).latencyNs, 30'000);
  EXPECT_EQ(model.cost(Operation::kBarrier, 0).linkNs, 0);
  EXPECT_EQ(model.cost(Operation::kBarrier, 0).latencyNs, 30'000);
}

TEST(LinkModel, LetsOnlyTheReceiverWaitForTheLatency) {
  const LinkModel root(flat(8, 10), 0, 3);
  const LinkModel other(flat(8, 10), 2, 3);
  EXPECT_EQ(root.cost(Operation::kGather, kMillion, 0).linkNs, 2'000'000);
  EXPECT_EQ(root.cost(Operation::kGather, kMillion, 0).latencyNs, 10'000);
  EXPECT_EQ(other.cost(Operation::kGather, kMillion, 0).linkNs, 1'000'000);
  EXPECT_EQ(other.cost(Operation::kGather, kMillion, 0).latencyNs, 0);
  EXPECT_EQ(root.cost(Operation::kScatter, kMillion, 0).latencyNs, 0);
  EXPECT_EQ(other.cost(Operation::kScatter, kMillion, 0).latencyNs, 10'000);
  EXPECT_EQ(other.cost(Operation::kSend, kMillion, 0).latencyNs, 0);
  EXPECT_EQ(other.cost(Operation::kRecv, kMillion, 0).latencyNs, 10'000);
}

TEST(LinkModel, IsFastInsideANodeAndSlowBetween) {
  LinkOptions options = flat(1, 50);
  options.inside = {80, 1};
  options.ranksPerNode = 4;
  const LinkModel model(options, 5, 8);
  EXPECT_EQ(model.between(4, 7), (LinkSpeed{80, 1}));
  EXPECT_EQ(model.between(3, 4), (LinkSpeed{1, 50}));
  EXPECT_EQ(model.slowest(), (LinkSpeed{1, 50}));  // the ring crosses nodes twice
  EXPECT_EQ(model.cost(Operation::kSend, kMillion, 6).linkNs, 100'000);
  EXPECT_EQ(model.cost(Operation::kSend, kMillion, 0).linkNs, 8'000'000);
  // Three peers of its node at 80 Gbit/s, four of the other at 1.
  const std::vector<std::uint64_t> each(8, kMillion);
  EXPECT_EQ(model.alltoall(each, each).linkNs, 3 * 100'000 + 4 * 8'000'000);
  EXPECT_EQ(LinkModel(options, 1, 4).slowest(), (LinkSpeed{80, 1}));  // one node alone
}

TEST(LinkModel, TakesTheLastExceptionThatFits) {
  LinkOptions options = flat(10, 5);
  options.exceptions = {{1, -1, {4, 20}}, {2, 1, {2, 40}}};
  const LinkModel model(options, 0, 4);
  EXPECT_EQ(model.between(0, 1), (LinkSpeed{4, 20}));
  EXPECT_EQ(model.between(1, 2), (LinkSpeed{2, 40}));
  EXPECT_EQ(model.between(2, 3), (LinkSpeed{10, 5}));
  EXPECT_EQ(model.slowest(), (LinkSpeed{2, 40}));
}

TEST(LinkModel, AddsNothingWithoutPeersOrLimits) {
  const LinkModel alone(flat(1, 100), 0, 1);
  EXPECT_EQ(alone.cost(Operation::kAllreduce, kMillion).linkNs, 0);
  EXPECT_EQ(alone.cost(Operation::kAllreduce, kMillion).latencyNs, 0);
  const LinkModel unlimited(flat(0, 0), 0, 4);
  EXPECT_EQ(unlimited.cost(Operation::kAllgather, kMillion).linkNs, 0);
}

TEST(LinkModel, SomeRanksSeeTheirLinksOfTheSameNetwork) {
  LinkOptions options = flat(1, 100);
  options.exceptions = {{2, -1, {0.5, 300}}};
  options.jitterUs = 7;
  options.seed = 8;
  options.inFlight = 3;
  const LinkOptions own = among(options, {1, 2});
  EXPECT_EQ(LinkModel(own, 0, 2).between(0, 1), (LinkSpeed{0.5, 300}));
  EXPECT_EQ(own.jitterUs, 7);
  EXPECT_EQ(own.seed, 8u);
  EXPECT_EQ(own.inFlight, 3);
}

}  // namespace
}  // namespace lockstep::cost

#include "engine/process_group/operation/Moves.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace lockstep::process_group {
namespace {

using trace::Operation;

Call callOf(Operation operation, int root = -1) {
  Call call;
  call.operation = operation;
  call.root = root;
  return call;
}

std::vector<std::size_t> sizes(const std::vector<Block>& blocks) {
  std::vector<std::size_t> bytes;
  for (const Block& block : blocks) {
    bytes.push_back(block.bytes);
  }
  return bytes;
}

TEST(Moves, OfABroadcastGoFromTheRootAlone) {
  const std::vector<at::Tensor> tensors{at::ones({2}), at::ones({0}), at::ones({3})};
  Moves root(callOf(Operation::kBroadcast, 0), tensors, {}, 0);
  root.show();
  EXPECT_THAT(sizes(root.to(1)), testing::ElementsAre(8, 12));
  EXPECT_THAT(root.from(1), testing::IsEmpty());
  Moves other(callOf(Operation::kBroadcast, 0), tensors, {}, 2);
  other.show();
  EXPECT_THAT(other.to(1), testing::IsEmpty());
  EXPECT_THAT(other.from(1), testing::IsEmpty());
  EXPECT_THAT(sizes(other.from(0)), testing::ElementsAre(8, 12));
}

TEST(Moves, OfAGatherGoToTheRootWhichKeepsItsOwn) {
  const std::vector<at::Tensor> outputs{at::zeros({2}), at::zeros({2})};
  Moves root(callOf(Operation::kGather, 1), outputs, {at::ones({2})}, 1);
  root.show();
  EXPECT_THAT(root.to(0), testing::IsEmpty());
  EXPECT_THAT(sizes(root.from(0)), testing::ElementsAre(8));
  root.keepOwn();
  EXPECT_EQ(outputs[0].sum().item<float>(), 0);
  EXPECT_EQ(outputs[1].sum().item<float>(), 2);
  Moves other(callOf(Operation::kGather, 1), {}, {at::ones({2})}, 0);
  other.show();
  EXPECT_THAT(sizes(other.to(1)), testing::ElementsAre(8));
  EXPECT_THAT(other.from(1), testing::IsEmpty());
}

TEST(Moves, OfAnAlltoallCutBothTensors) {
  Call call = callOf(Operation::kAlltoall);
  call.bytesTo = {4, 8, 0};
  call.bytesFrom = {4, 0, 12};
  Moves moves(call, {at::zeros({4})}, {at::ones({3})}, 0);
  moves.show();
  EXPECT_THAT(sizes(moves.to(1)), testing::ElementsAre(8));
  EXPECT_THAT(moves.to(2), testing::IsEmpty());
  EXPECT_THAT(sizes(moves.from(2)), testing::ElementsAre(12));
}

TEST(Moves, BringWhatCameIntoATensorWithGaps) {
  at::Tensor wide = at::zeros({2, 2});
  const at::Tensor column = wide.select(1, 0);
  Moves moves(callOf(Operation::kScatter, 0), {column}, {}, 1);
  EXPECT_TRUE(moves.copies());
  moves.show();
  const Block block = moves.from(0).at(0);
  reinterpret_cast<float*>(block.data)[1] = 5;
  EXPECT_EQ(wide[1][0].item<float>(), 0);
  moves.copyBack();
  EXPECT_EQ(wide[1][0].item<float>(), 5);
}

}  // namespace
}  // namespace lockstep::process_group

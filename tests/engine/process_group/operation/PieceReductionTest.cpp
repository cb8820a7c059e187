#include "engine/process_group/operation/PieceReduction.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace lockstep::process_group {
namespace {

using trace::Operation;

// More than is exchanged whole.
constexpr std::int64_t kMany = 1 << 20;

PieceReduction of(Operation operation, const at::Tensor& tensor, int rank, int size) {
  Call call;
  call.operation = operation;
  call.dtype = tensor.scalar_type();
  call.root = operation == Operation::kReduce ? 0 : -1;
  return {call, {tensor}, {}, rank, size};
}

TEST(PieceReduction, OfASmallAllreduceGivesEveryRankAllOfIt) {
  const at::Tensor tensor = at::ones({100});
  auto reduction = of(Operation::kAllreduce, tensor, 1, 3);
  reduction.show();
  for (const Block& piece : reduction.pieces()) {
    EXPECT_EQ(piece.data, tensor.data_ptr());
    EXPECT_EQ(piece.bytes, 400u);
  }
  EXPECT_TRUE(reduction.exchanged());
  EXPECT_FALSE(reduction.gathers(0));
}

TEST(PieceReduction, OfALargeAllreduceGivesEachAPieceAndAllTheResults) {
  const at::Tensor tensor = at::ones({kMany});
  auto reduction = of(Operation::kAllreduce, tensor, 1, 3);
  reduction.show();
  std::size_t bytes = 0;
  for (const Block& piece : reduction.pieces()) {
    bytes += piece.bytes;
  }
  EXPECT_EQ(bytes, tensor.nbytes());
  EXPECT_EQ(reduction.result().data, reduction.mine().data);
  EXPECT_FALSE(reduction.exchanged());
  EXPECT_TRUE(reduction.gathers(0));
  EXPECT_TRUE(reduction.gathers(2));
}

TEST(PieceReduction, OfAReduceLeavesTheOthersTensorsAlone) {
  auto small = of(Operation::kReduce, at::ones({100}), 1, 3);
  small.show();
  EXPECT_EQ(small.pieces()[0].bytes, 400u);
  EXPECT_EQ(small.mine().bytes, 0u);
  auto large = of(Operation::kReduce, at::ones({kMany}), 1, 3);
  large.show();
  EXPECT_NE(large.mine().bytes, 0u);
  EXPECT_NE(large.result().data, large.mine().data);
  EXPECT_TRUE(large.gathers(0));
  EXPECT_FALSE(large.gathers(2));
}

}  // namespace
}  // namespace lockstep::process_group

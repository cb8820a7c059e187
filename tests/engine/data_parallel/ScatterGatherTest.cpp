#include "engine/data_parallel/ScatterGather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "engine/data_parallel/DataParallelError.h"

namespace lockstep::data_parallel {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::int64_t> rowsOf(const Scattered& scattered) {
  std::vector<std::int64_t> rows;
  for (const Tree& piece : scattered.pieces) {
    rows.push_back(piece.tensor().size(0));
  }
  return rows;
}

TEST(ScatterGather, CutsAsTorchChunkDoes) {
  const auto devices = virtualDevices(4);
  EXPECT_THAT(rowsOf(scatter(at::ones({8}), devices, 0)), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(rowsOf(scatter(at::ones({5}), devices, 0)), ElementsAre(2, 2, 1));
  EXPECT_THAT(rowsOf(scatter(at::ones({3}), devices, 0)), ElementsAre(1, 1, 1));
  EXPECT_THAT(rowsOf(scatter(at::ones({0}), devices, 0)), ElementsAre(0, 0, 0, 0));
}

TEST(ScatterGather, DeviceZeroSharesTheInputAndOthersGetCopies) {
  const at::Tensor input = at::ones({4, 2});
  const auto scattered = scatter(input, virtualDevices(2), 0);
  EXPECT_EQ(scattered.pieces[0].tensor().data_ptr(), input.data_ptr());
  EXPECT_FALSE(scattered.pieces[1].tensor().is_alias_of(input));
  EXPECT_EQ(scattered.bytes, 2u * 2 * sizeof(float));
}

TEST(ScatterGather, ValuesAloneGoToEveryDevice) {
  const auto scattered = scatter(Tree(Tree::List{Tree::value(3)}), virtualDevices(3), 0);
  ASSERT_EQ(scattered.pieces.size(), 3u);
  EXPECT_EQ(TreeOf<int>::from(scattered.pieces[2].at(std::size_t{0})), 3);
}

TEST(ScatterGather, NamesInputsThatGiveDifferentNumbersOfPieces) {
  const Tree inputs(Tree::List{Tree(at::ones({8, 3})), Tree(Tree::Map{{"mask", at::ones({1})}})});
  EXPECT_THAT([&] { scatter(inputs, virtualDevices(4), 0); },
              ThrowsMessage<DataParallelError>(AllOf(HasSubstr("input[1].mask [1] gives 1"),
                                                     HasSubstr("input[0] [8, 3] gives 4"))));
}

TEST(ScatterGather, NamesAScalarInput) {
  EXPECT_THAT([] { scatter(Tree(Tree::List{Tree(at::ones({}))}), virtualDevices(2), 0); },
              ThrowsMessage<DataParallelError>(HasSubstr("input[0] [] has no dimension 0")));
}

TEST(ScatterGather, NamesOutputsThatCannotBeJoined) {
  const auto devices = virtualDevices(2);
  const auto join = [&](Tree a, Tree b) {
    gather({std::move(a), std::move(b)}, devices, devices[0], 0);
  };
  EXPECT_THAT(
      [&] {
        join(at::ones({2, 3}), at::ones({2, 4}));
      },
      ThrowsMessage<DataParallelError>(
          AllOf(HasSubstr("output cannot be joined"), HasSubstr("[2, 4] on device cpu 1"))));
  EXPECT_THAT([&] { join(at::ones({2}), at::ones({2}, at::kDouble)); },
              ThrowsMessage<DataParallelError>(HasSubstr("Double [2] on device cpu 1")));
  EXPECT_THAT([&] { join(at::ones({2}), Tree(Tree::List{Tree(at::ones({2}))})); },
              ThrowsMessage<DataParallelError>(HasSubstr("a list of 1 on device cpu 1")));
  EXPECT_THAT(
      [&] {
        join(Tree(Tree::Map{{"a", at::ones({2})}}), Tree(Tree::Map{{"b", at::ones({2})}}));
      },
      ThrowsMessage<DataParallelError>(HasSubstr("output has no 'a' on every device")));
  EXPECT_THAT([&] { join(Tree(Tree::List{Tree::value(1)}), Tree(Tree::List{Tree::value(1)})); },
              ThrowsMessage<DataParallelError>(HasSubstr("output[0] is no tensor")));
}

TEST(ScatterGather, JoinsNothingToNothing) {
  const auto devices = virtualDevices(2);
  EXPECT_TRUE(gather({Tree(), Tree()}, devices, devices[0], 0).shape.isNone());
}

}  // namespace
}  // namespace lockstep::data_parallel

#include "engine/process_group/checked/CheckRecord.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace lockstep::process_group::checked {
namespace {

Call callOf(std::vector<at::Tensor> tensors) {
  Call call;
  call.operation = trace::Operation::kAllreduce;
  call.sequence = 7;
  call.describeTensors(tensors);
  return call;
}

std::vector<CheckRecord> recordsOf(const std::vector<Call>& calls) {
  std::vector<CheckRecord> records;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    records.push_back(makeRecord(calls[rank], static_cast<int>(rank)));
  }
  return records;
}

TEST(CheckRecord, OfTheSameCallIsTheSame) {
  const Call call = callOf({at::ones({2, 3})});
  EXPECT_EQ(firstDifference(recordsOf({call, call, call})), Field::kNone);
}

TEST(CheckRecord, FindsTheFirstFieldThatDiffers) {
  const Call plain = callOf({at::ones({2, 3})});
  const auto changed = [&](auto change) {
    Call other = plain;
    change(other);
    return firstDifference(recordsOf({plain, plain, other}));
  };
  EXPECT_EQ(changed([](Call& call) { call.sequence = 8; }), Field::kSequence);
  EXPECT_EQ(changed([](Call& call) { call.operation = trace::Operation::kReduce; }),
            Field::kOperation);
  EXPECT_EQ(changed([](Call& call) { call.reduce = ReduceOp::kMax; }), Field::kReduce);
  EXPECT_EQ(changed([](Call& call) { call.root = 1; }), Field::kRoot);
  EXPECT_EQ(changed([](Call& call) { call.options.bucket = 1; }), Field::kBucket);
  const auto of = [&](std::vector<at::Tensor> tensors) {
    return firstDifference(recordsOf({plain, callOf(std::move(tensors))}));
  };
  EXPECT_EQ(of({at::ones({2}), at::ones({4})}), Field::kTensorCount);
  EXPECT_EQ(of({at::ones({2, 3}, at::kHalf)}), Field::kDtype);
  EXPECT_EQ(of({at::ones({2, 4})}), Field::kElements);
  EXPECT_EQ(of({at::ones({3, 2})}), Field::kShape);
  EXPECT_EQ(of({at::ones({6})}), Field::kShape);
  EXPECT_EQ(changed([](Call& call) { call.options.step = 9; }), Field::kNone)
      << "a rank without inputs may stand still";
}

TEST(CheckRecord, FindsDtypesOfLaterTensorsThatDiffer) {
  const std::vector<at::Tensor> first{at::ones({2}), at::ones({2}, at::kLong)};
  const std::vector<at::Tensor> second{at::ones({2}), at::ones({2}, at::kInt)};
  const auto records = recordsOf({callOf(first), callOf(second)});
  const Field field = firstDifference(records);
  ASSERT_EQ(field, Field::kDtypes);
  ASSERT_TRUE(needsDetails(field));
  EXPECT_EQ(describeDifference(field, records,
                               {details(field, callOf(first), first, 100),
                                details(field, callOf(second), second, 100)}),
            "the ranks do not make the same call: the list of dtypes is float [2], long [2] "
            "(cpu) on rank 0 and float [2], int [2] (cpu) on rank 1");
}

TEST(CheckRecord, NamesDtypesShapesAndDevicesOfBothSides) {
  const std::vector<std::vector<at::Tensor>> tensors{
      {at::ones({2, 3}), at::ones({4})},
      {at::ones({2, 3}), at::ones({5})},
      {at::ones({2, 3}), at::ones({4})},
      {at::ones({3, 2}), at::empty({5}, at::TensorOptions().device(at::kMeta))}};
  std::vector<Call> calls;
  std::vector<std::string> texts;
  for (const auto& list : tensors) {
    calls.push_back(callOf(list));
    texts.push_back(details(Field::kElements, calls.back(), list, 100));
  }
  const auto records = recordsOf(calls);
  const Field field = firstDifference(records);
  ASSERT_EQ(field, Field::kElements);
  ASSERT_TRUE(needsDetails(field));
  EXPECT_EQ(
      describeDifference(field, records, texts),
      "the ranks do not make the same call: the number of elements is 10 on ranks 0, 2 and 11 "
      "on ranks 1, 3; the tensors are float [2, 3], float [4] (cpu) on ranks 0, 2 and float "
      "[2, 3], float [5] (cpu) on rank 1 and float [3, 2] (cpu), float [5] (meta) on rank 3");
}

TEST(CheckRecord, AddsUpToNothingWhenAllSplitsFit) {
  const auto splitCall = [](std::vector<std::uint64_t> to, std::vector<std::uint64_t> from) {
    Call call;
    call.operation = trace::Operation::kAlltoall;
    call.bytesTo = std::move(to);
    call.bytesFrom = std::move(from);
    return call;
  };
  // Row r of the first matrix is column r of the second.
  std::vector<Call> calls{splitCall({4, 8, 0}, {4, 16, 20}), splitCall({16, 4, 12}, {8, 4, 24}),
                          splitCall({20, 24, 4}, {0, 12, 4})};
  EXPECT_EQ(firstDifference(recordsOf(calls)), Field::kNone);
  std::swap(calls[2].bytesTo[0], calls[2].bytesTo[1]);
  const auto records = recordsOf(calls);
  ASSERT_EQ(firstDifference(records), Field::kSplits);
  std::vector<std::string> texts;
  for (const Call& call : calls) {
    texts.push_back(details(Field::kSplits, call, {}, 100));
  }
  EXPECT_EQ(describeDifference(Field::kSplits, records, texts),
            "the ranks do not make the same call: rank 2 sends 24 bytes to rank 0, which expects "
            "20");
  EXPECT_EQ(differingPeer(Field::kSplits, records, texts, 2), 0);
  EXPECT_EQ(differingPeer(Field::kSplits, records, texts, 0), 2);
}

TEST(CheckRecord, CutsDetailsToTheirLimit) {
  const std::vector<at::Tensor> many(200, at::ones({3}));
  const std::string text = details(Field::kShape, callOf(many), many, 64);
  EXPECT_EQ(text.size(), 64u);
  EXPECT_THAT(text, testing::EndsWith("..."));
}

TEST(CheckRecord, NamesTheRanksOfEachValue) {
  const Call sum = callOf({at::ones({1})});
  Call max = sum;
  max.reduce = ReduceOp::kMax;
  const auto records = recordsOf({sum, max, sum, max});
  EXPECT_EQ(describeDifference(Field::kReduce, records, {}),
            "the ranks do not make the same call: the reduce operation is sum on ranks 0, 2 and "
            "max on ranks 1, 3");
  EXPECT_EQ(differingPeer(Field::kReduce, records, {}, 0), 1);
  EXPECT_EQ(differingPeer(Field::kReduce, records, {}, 3), 0);
}

}  // namespace
}  // namespace lockstep::process_group::checked

#include "engine/process_group/Arguments.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <stdexcept>

namespace lockstep::process_group {
namespace {

template <typename Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

const Arguments kArguments("Backend", trace::Operation::kGather, 2);

TEST(Arguments, NameBackendOperationAndParameter) {
  EXPECT_EQ(refusal([] { kArguments.tensor(at::Tensor(), "input"); }),
            "Backend::gather: input is an undefined tensor");
  EXPECT_EQ(refusal([] { kArguments.tensors({}, "tensors"); }),
            "Backend::gather: tensors is empty; at least one tensor is needed");
  EXPECT_EQ(refusal([] {
              kArguments.tensors({at::ones(1), at::Tensor()}, "tensors");
            }),
            "Backend::gather: tensors[1] is an undefined tensor");
  EXPECT_EQ(refusal([] { kArguments.rank(2, "root"); }),
            "Backend::gather: root is 2; ranks of this group are 0 to 1");
  EXPECT_EQ(refusal([] { kArguments.rank(-1, "root"); }),
            "Backend::gather: root is -1; ranks of this group are 0 to 1");
  EXPECT_EQ(refusal([] { kArguments.peer(1, 1, "to"); }),
            "Backend::gather: to is 1, this rank itself");
}

TEST(Arguments, RefuseSparseTensors) {
  const at::Tensor sparse = at::eye(3).to_sparse();
  EXPECT_EQ(refusal([&] { kArguments.tensor(sparse, "tensor"); }),
            "Backend::gather: tensor is a sparse tensor; only dense tensors can be sent");
}

TEST(Arguments, RefuseViewsWhoseMemoryIsAnotherTensor) {
  const at::Tensor tensor = at::ones({3}, at::kComplexFloat);
  for (const at::Tensor& view : {at::conj(tensor), at::imag(at::conj(tensor))}) {
    EXPECT_EQ(refusal([&] { kArguments.tensor(view, "tensor"); }),
              "Backend::gather: tensor is a view that conjugates or negates; pass its "
              "resolve_conj() or resolve_neg()");
  }
  EXPECT_EQ(refusal([&] { kArguments.tensor(at::conj(tensor).resolve_conj(), "tensor"); }),
            "accepted");
}

TEST(Arguments, RefuseMixedDtypesInOneCall) {
  EXPECT_EQ(refusal([] {
              kArguments.sameDtype({at::ones(1), at::ones(1, at::kDouble)}, "tensors");
            }),
            "Backend::gather: tensors[1] is Double and tensors[0] is Float; all tensors of one "
            "call must have the same dtype");
}

TEST(Arguments, WantOneTensorARankLikeTheModel) {
  const at::Tensor input = at::ones({2, 3});
  EXPECT_EQ(refusal([&] { kArguments.onePerRank({input}, "outputs", input, "input"); }),
            "Backend::gather: outputs has 1 tensors; a group of 2 ranks needs 2");
  EXPECT_EQ(refusal([&] {
              kArguments.onePerRank({input, at::ones({3, 2})}, "outputs", input, "input");
            }),
            "Backend::gather: outputs[1] is Float [3, 2] and input is Float [2, 3]; they must be "
            "alike");
  EXPECT_EQ(refusal([&] {
              kArguments.onePerRank({input, at::ones({2, 3}, at::kInt)}, "outputs", input, "input");
            }),
            "Backend::gather: outputs[1] is Int [2, 3] and input is Float [2, 3]; they must be "
            "alike");
  EXPECT_EQ(refusal([&] { kArguments.noneUnlessRoot({input}, "outputs", 0); }),
            "Backend::gather: outputs has 1 tensors; it must be empty on every rank but the root, "
            "rank 0");
}

TEST(Arguments, CheckSplits) {
  const at::Tensor rows = at::ones({5, 2});
  const auto split = [&](std::vector<std::int64_t> splits) {
    return refusal([&] { kArguments.splits(splits, rows, "inputSplits", "input"); });
  };
  EXPECT_EQ(split({3, 2}), "accepted");
  EXPECT_EQ(split({5, 0}), "accepted");
  EXPECT_EQ(split({}),
            "Backend::gather: input has 5 rows, which do not divide into 2 equal "
            "parts; give inputSplits");
  EXPECT_EQ(split({5}), "Backend::gather: inputSplits has 1 entries; a group of 2 ranks needs 2");
  EXPECT_EQ(split({3, 3}), "Backend::gather: inputSplits adds up to 6 rows; input has 5");
  EXPECT_EQ(split({6, -1}), "Backend::gather: inputSplits[1] is -1; it must not be negative");
  std::vector<std::int64_t> none;
  EXPECT_EQ(refusal([&] { kArguments.splits(none, at::ones({}), "inputSplits", "input"); }),
            "Backend::gather: input has no dimension to split");
}

TEST(Arguments, RefuseNegativeTimeouts) {
  EXPECT_EQ(refusal([] { kArguments.timeout(std::chrono::milliseconds(-1)); }),
            "Backend::gather: timeout is -1 ms; it must not be negative");
}

}  // namespace
}  // namespace lockstep::process_group

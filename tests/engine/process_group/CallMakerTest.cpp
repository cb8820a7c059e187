#include "engine/process_group/CallMaker.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <stdexcept>

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

const CallMaker kCalls("Backend", 0, 2);

template <typename Function>
std::string refusalOfCall(Function function) {
  try {
    static_cast<void>(function());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CallMaker, RefusesMixedDtypesInsideOneCallForEachOperation) {
  const at::Tensor real = at::ones({4});
  const at::Tensor whole = at::ones({4}, at::kLong);
  const CallOptions options;
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> from;
  EXPECT_THAT(refusalOfCall([&] {
                return kCalls.allreduce({real, whole}, ReduceOp::kSum, options);
              }),
              HasSubstr("Backend::allreduce: tensors[1] is Long and tensors[0] is Float"));
  EXPECT_THAT(refusalOfCall([&] {
                return kCalls.allgather({real, whole}, real, options);
              }),
              HasSubstr("Backend::allgather: outputs[1] is Long [4] and input is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] {
                return kCalls.gather({whole, real}, real, 0, options);
              }),
              HasSubstr("Backend::gather: outputs[0] is Long [4] and input is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] {
                return kCalls.scatter(real, {real, whole}, 0, options);
              }),
              HasSubstr("Backend::scatter: inputs[1] is Long [4] and output is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] {
                return kCalls.reduceScatter(real, {whole, real}, ReduceOp::kSum, options);
              }),
              HasSubstr("Backend::reduce_scatter: inputs[0] is Long [4] and output is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] { return kCalls.alltoall(real, whole, to, from, options); }),
              HasSubstr("Backend::alltoall: output is Float and input is Long"));
}

TEST(CallMaker, TakesABroadcastOfMixedDtypes) {
  const Call call = kCalls.broadcast({at::ones({4}), at::ones({2}, at::kLong)}, 1, {});
  EXPECT_EQ(call.tensors, 2u);
  EXPECT_EQ(call.bytes, 32u);
  EXPECT_EQ(call.root, 1);
}

TEST(CallMaker, FillsEmptySplitsWithEqualParts) {
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> from;
  const Call call = kCalls.alltoall(at::ones({4, 3}), at::ones({4, 3}), to, from, {});
  EXPECT_EQ(to, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(from, to);
  EXPECT_EQ(call.bytesTo, (std::vector<std::uint64_t>{24, 24}));
}

TEST(CallMaker, RefusesOtherDevicesUnlessTold) {
  const at::Tensor away = at::empty({2}, at::TensorOptions().device(at::kMeta));
  EXPECT_THAT(refusalOfCall([&] { return kCalls.broadcast({away}, 0, {}); }),
              HasSubstr("tensors[0] is on meta; this backend takes CPU tensors"));
  const CallMaker any("Wrapper", 0, 2, CallMaker::Devices::kAny);
  EXPECT_EQ(refusalOfCall([&] { return any.broadcast({away}, 0, {}); }), "accepted");
}

}  // namespace
}  // namespace lockstep::process_group

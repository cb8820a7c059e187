#include "engine/process_group/Request.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <stdexcept>

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

/// Keeps what it is asked for.
class Keeper final : public ProcessGroup {
 public:
  explicit Keeper(Devices devices = Devices::kCpu)
      : ProcessGroup(0, 2, "asked", "Backend", devices) {}
  [[nodiscard]] std::string backendName() const override { return "asked"; }
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return 0; }
  void abort(const std::string&) override {}

  Request last;

 protected:
  WorkPtr start(Request request) override {
    last = std::move(request);
    return nullptr;
  }
};

template <typename Function>
std::string refusalOfCall(Function function) {
  try {
    static_cast<void>(function());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Request, RefusesMixedDtypesInsideOneCallForEachOperation) {
  const at::Tensor real = at::ones({4});
  const at::Tensor whole = at::ones({4}, at::kLong);
  Keeper group;
  EXPECT_THAT(refusalOfCall([&] { return group.allreduce({real, whole}); }),
              HasSubstr("Backend::allreduce: tensors[1] is Long and tensors[0] is Float"));
  EXPECT_THAT(refusalOfCall([&] { return group.allgather({real, whole}, real); }),
              HasSubstr("Backend::allgather: outputs[1] is Long [4] and input is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] { return group.gather({whole, real}, real, 0); }),
              HasSubstr("Backend::gather: outputs[0] is Long [4] and input is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] { return group.scatter(real, {real, whole}, 0); }),
              HasSubstr("Backend::scatter: inputs[1] is Long [4] and output is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] { return group.reduceScatter(real, {whole, real}); }),
              HasSubstr("Backend::reduce_scatter: inputs[0] is Long [4] and output is Float [4]"));
  EXPECT_THAT(refusalOfCall([&] { return group.alltoall(real, whole); }),
              HasSubstr("Backend::alltoall: output is Float and input is Long"));
}

TEST(Request, TakesABroadcastOfMixedDtypes) {
  Keeper group;
  (void)group.broadcast({at::ones({4}), at::ones({2}, at::kLong)}, 1);
  EXPECT_EQ(group.last.call.tensors, 2u);
  EXPECT_EQ(group.last.call.bytes, 32u);
  EXPECT_EQ(group.last.call.root, 1);
}

TEST(Request, HasEqualPartsForEmptySplits) {
  Keeper group;
  (void)group.alltoall(at::ones({4, 3}), at::ones({4, 3}));
  EXPECT_EQ(group.last.outputSplits, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(group.last.inputSplits, group.last.outputSplits);
  EXPECT_EQ(group.last.call.bytesTo, (std::vector<std::uint64_t>{24, 24}));
}

TEST(Request, IsCheckedAgainByTheGroupThatItIsPassedOnTo) {
  const at::Tensor away = at::empty({2}, at::TensorOptions().device(at::kMeta));
  Keeper any(ProcessGroup::Devices::kAny);
  EXPECT_EQ(refusalOfCall([&] { return any.broadcast({away}, 0); }), "accepted");
  Keeper group;
  EXPECT_THAT(
      refusalOfCall([&] { return group.call(any.last); }),
      HasSubstr("Backend::broadcast: tensors[0] is on meta; this backend takes CPU tensors"));
}

}  // namespace
}  // namespace lockstep::process_group

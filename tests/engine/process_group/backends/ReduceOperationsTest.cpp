// Every reduce operation with every dtype, and what is refused.

#include <gmock/gmock.h>

#include <stdexcept>

#include "engine/process_group/Reduction.h"
#include "tests/engine/process_group/Backends.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

constexpr ReduceOp kAll[] = {ReduceOp::kSum,        ReduceOp::kAverage,   ReduceOp::kProduct,
                             ReduceOp::kMin,        ReduceOp::kMax,       ReduceOp::kBitwiseAnd,
                             ReduceOp::kBitwiseOr,  ReduceOp::kBitwiseXor};
constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kByte,
                                      at::kChar,  at::kShort,  at::kInt,  at::kLong,     at::kBool};

using ReduceOperations = BackendRanksTest;
LOCKSTEP_OVER_BACKENDS_AND_RANKS(ReduceOperations, 2, 3);
LOCKSTEP_AND_IN_PROCESS(ReduceOperations, 2, 3);

using BackendArguments = BackendTest;
LOCKSTEP_OVER_BACKENDS(BackendArguments);

// Values that are exact in every dtype: rank r contributes r + 1, or whether r is 0 for bools.
long contribution(at::ScalarType dtype, int rank) { return dtype == at::kBool ? rank == 0 : rank + 1; }

double expected(ReduceOp op, at::ScalarType dtype, int size) {
  long value = contribution(dtype, 0);
  for (int rank = 1; rank < size; ++rank) {
    const long other = contribution(dtype, rank);
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kAverage: value += other; break;
      case ReduceOp::kProduct: value *= other; break;
      case ReduceOp::kMin: value = std::min(value, other); break;
      case ReduceOp::kMax: value = std::max(value, other); break;
      case ReduceOp::kBitwiseAnd: value &= other; break;
      case ReduceOp::kBitwiseOr: value |= other; break;
      case ReduceOp::kBitwiseXor: value ^= other; break;
    }
  }
  return op == ReduceOp::kAverage ? static_cast<double>(value) / size : static_cast<double>(value);
}

TEST_P(ReduceOperations, GiveTheirValueForEachDtypeOrAreRefusedByName) {
  runGroup(ranks(), [](ProcessGroup& group) {
    for (const at::ScalarType dtype : kDtypes) {
      for (const ReduceOp op : kAll) {
        at::Tensor tensor = at::full({37}, contribution(dtype, group.rank()), dtype);
        const std::string why = reduction::whyNot(dtype, op);
        if (!why.empty()) {
          EXPECT_EQ(textOf<std::invalid_argument>([&] { group.allreduce({tensor}, op); }),
                    className() + "::allreduce: " + why);
          continue;
        }
        group.allreduce({tensor}, op)->wait();
        const at::Tensor wanted =
            at::full({37}, expected(op, dtype, group.size()), at::kDouble).to(dtype);
        EXPECT_TRUE(at::equal(tensor, wanted)) << name(op) << " of " << dtype;
      }
    }
  });
}

TEST_P(ReduceOperations, RefuseBitwiseOperationsOnFloatsInEveryCollective) {
  runGroup(ranks(), [](ProcessGroup& group) {
    const at::Tensor tensor = at::ones({4});
    const std::vector<at::Tensor> each(static_cast<std::size_t>(group.size()), tensor);
    EXPECT_THAT(textOf<std::invalid_argument>(
                    [&] { group.allreduce({tensor}, ReduceOp::kBitwiseOr); }),
                HasSubstr("allreduce: bitwise_or needs integers or bools; the tensors are Float"));
    EXPECT_THAT(textOf<std::invalid_argument>(
                    [&] { group.reduce(tensor, 0, ReduceOp::kBitwiseXor); }),
                HasSubstr("reduce: bitwise_xor needs integers"));
    EXPECT_THAT(textOf<std::invalid_argument>(
                    [&] { group.reduceScatter(tensor, each, ReduceOp::kBitwiseAnd); }),
                HasSubstr("reduce_scatter: bitwise_and needs integers"));
  });
}

TEST_P(ReduceOperations, AverageLargeHalfTensorsWithoutOverflow) {
  runGroup(ranks(), [](ProcessGroup& group) {
    // The sum does not fit a half, the average does.
    at::Tensor tensor = at::full({400'000}, 40'000, at::kHalf);
    group.allreduce({tensor}, ReduceOp::kAverage)->wait();
    EXPECT_TRUE(at::equal(tensor, at::full({400'000}, 40'000, at::kHalf)));
  });
}

TEST_P(BackendArguments, AreCheckedAtTheCallByName) {
  runGroup(2, [](ProcessGroup& group) {
    const at::Tensor tensor = at::ones({4});
    const auto refusal = [](auto function) { return textOf<std::invalid_argument>(function); };
    EXPECT_EQ(refusal([&] { group.broadcast({tensor}, 2); }),
              className() + "::broadcast: root is 2; ranks of this group are 0 to 1");
    EXPECT_EQ(refusal([&] { group.broadcast({}, 0); }),
              className() + "::broadcast: tensors is empty; at least one tensor is needed");
    EXPECT_THAT(refusal([&] { group.allreduce({tensor, at::ones({4}, at::kDouble)}); }),
                HasSubstr(className() + "::allreduce: tensors[1] is Double and tensors[0] is "
                          "Float"));
    EXPECT_THAT(refusal([&] { group.allgather({tensor}, tensor); }),
                HasSubstr(className() + "::allgather: outputs has 1 tensors"));
    EXPECT_THAT(refusal([&] { group.gather({tensor, tensor}, tensor, 1 - group.rank()); }),
                HasSubstr(className() + "::gather: outputs has 2 tensors; it must be empty"));
    EXPECT_THAT(refusal([&] { group.scatter(tensor, {}, group.rank()); }),
                HasSubstr(className() + "::scatter: inputs has 0 tensors"));
    EXPECT_THAT(refusal([&] { group.reduceScatter(tensor, {tensor, at::ones({5})}); }),
                HasSubstr(className() + "::reduce_scatter: inputs[1] is Float [5]"));
    EXPECT_THAT(refusal([&] { group.alltoall(tensor, at::ones({4}, at::kInt)); }),
                HasSubstr(className() + "::alltoall: output is Float and input is Int"));
    EXPECT_THAT(refusal([&] { group.send(tensor, group.rank()); }),
                HasSubstr(className() + "::send: to is"));
    EXPECT_EQ(refusal([&] { group.recv(tensor, 7); }),
              className() + "::recv: from is 7; ranks of this group are 0 to 1");
    EXPECT_EQ(refusal([&] { group.recv(tensor, ProcessGroup::kAnySource, -3); }),
              className() + "::recv: tag is -3; it must not be negative");
    CallOptions options;
    options.timeout = std::chrono::milliseconds(-5);
    EXPECT_EQ(refusal([&] { group.barrier(options); }),
              className() + "::barrier: timeout is -5 ms; it must not be negative");
    EXPECT_EQ(group.sequenceNumber(), 0u) << "a refused call takes no number";
  });
}

}  // namespace
}  // namespace lockstep::process_group

// What each operation of the nccl backend moves and computes, over the test double.

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/engine/process_group/nccl/NcclRanks.h"

namespace lockstep::process_group::nccl {
namespace {

using testing::HasSubstr;

class NcclCollectives : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<void(ProcessGroup&)>& body) { NcclRanks(GetParam()).run(body); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, NcclCollectives, testing::Values(1, 2, 3, 4));

double sumOfRanks(const ProcessGroup& group) {
  return group.size() * (group.size() + 1) / 2.0;
}

TEST_P(NcclCollectives, BroadcastBringsTheRootsTensorsToAll) {
  run([](ProcessGroup& group) {
    for (int root = 0; root < group.size(); ++root) {
      std::vector<at::Tensor> tensors = {filled(1000, group.rank()),
                                         at::full({7}, group.rank(), at::kLong), at::ones({0})};
      group.broadcast(tensors, root)->wait();
      EXPECT_TRUE(at::equal(tensors[0], filled(1000, root)));
      EXPECT_TRUE(at::equal(tensors[1], at::full({7}, root, at::kLong)));
    }
  });
}

TEST_P(NcclCollectives, AllreduceTakesSeveralTensorsAsOne) {
  run([](ProcessGroup& group) {
    std::vector<at::Tensor> tensors = {filled(10, group.rank() + 1), at::ones({2, 3}),
                                       at::ones({0}), filled(100'000, 2)};
    const auto work = group.allreduce(tensors);
    work->wait();
    EXPECT_TRUE(at::equal(tensors[0], filled(10, sumOfRanks(group))));
    EXPECT_TRUE(at::equal(tensors[1], at::ones({2, 3}) * group.size()));
    EXPECT_TRUE(at::equal(tensors[3], filled(100'000, 2.0 * group.size())));
    EXPECT_EQ(group.sequenceNumber(), 1u);
  });
}

TEST_P(NcclCollectives, AllreduceKnowsTheOperationsAndDtypesOfNccl) {
  run([](ProcessGroup& group) {
    const double last = group.size();
    const auto of = [&](ReduceOp op, at::ScalarType type) {
      at::Tensor tensor = at::full({5}, group.rank() + 1, type);
      group.allreduce({tensor}, op)->wait();
      return tensor.to(at::kDouble)[0].item<double>();
    };
    for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong,
                            at::kChar, at::kByte}) {
      EXPECT_EQ(of(ReduceOp::kSum, type), sumOfRanks(group)) << type;
      EXPECT_EQ(of(ReduceOp::kMax, type), last) << type;
      EXPECT_EQ(of(ReduceOp::kMin, type), 1) << type;
    }
    EXPECT_EQ(of(ReduceOp::kAverage, at::kFloat), sumOfRanks(group) / last);
  });
}

TEST_P(NcclCollectives, BoolsHaveALargestAndASmallest) {
  run([](ProcessGroup& group) {
    const auto reduced = [&](ReduceOp op) {
      at::Tensor mine = at::tensor({group.rank() == 0 ? 1 : 0, 1, 0}, at::kInt).to(at::kBool);
      group.allreduce({mine}, op)->wait();
      return mine.to(at::kInt);
    };
    EXPECT_TRUE(at::equal(reduced(ReduceOp::kMax), at::tensor({1, 1, 0}, at::kInt)));
    EXPECT_TRUE(at::equal(reduced(ReduceOp::kMin),
                          at::tensor({group.size() == 1 ? 1 : 0, 1, 0}, at::kInt)));
  });
}

TEST_P(NcclCollectives, TensorsWithGapsKeepTheirPlaces) {
  run([](ProcessGroup& group) {
    const at::Tensor whole = at::zeros({4, 6});
    const at::Tensor column = whole.select(1, 2);
    column.fill_(group.rank() + 1);
    group.allreduce({column})->wait();
    EXPECT_TRUE(at::equal(column, filled(4, sumOfRanks(group))));
    EXPECT_EQ(whole.sum().item<double>(), 4 * sumOfRanks(group)) << "nothing beside it changed";
  });
}

TEST_P(NcclCollectives, ReduceWritesTheRootAlone) {
  run([](ProcessGroup& group) {
    const int root = group.size() - 1;
    at::Tensor tensor = filled(9, group.rank() + 1);
    group.reduce(tensor, root)->wait();
    const double expected = group.rank() == root ? sumOfRanks(group) : group.rank() + 1;
    EXPECT_TRUE(at::equal(tensor, filled(9, expected)));
  });
}

TEST_P(NcclCollectives, AllgatherFillsPartsOfOneTensorAndPartsThatLieApart) {
  run([](ProcessGroup& group) {
    const at::Tensor input = filled(5, group.rank());
    const at::Tensor whole = at::zeros({group.size(), 5});
    group.allgather(whole.unbind(0), input)->wait();
    std::vector<at::Tensor> apart;
    for (int rank = 0; rank < group.size(); ++rank) {
      apart.push_back(at::zeros({5}));
    }
    group.allgather(apart, input)->wait();
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_TRUE(at::equal(whole[rank], filled(5, rank)));
      EXPECT_TRUE(at::equal(apart[static_cast<std::size_t>(rank)], filled(5, rank)));
    }
  });
}

// The library must be asked for the same on every rank, and where an allocator puts what it is
// asked for is not the same on every rank.
TEST_P(NcclCollectives, PartsMayLieApartOnOneRankAndInARowOnAnother) {
  run([](ProcessGroup& group) {
    const at::Tensor whole = at::zeros({group.size(), 5});
    std::vector<at::Tensor> parts = whole.unbind(0);
    if (group.rank() == 0) {
      std::reverse(parts.begin(), parts.end());
    }
    group.allgather(parts, filled(5, group.rank() + 1))->wait();
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_TRUE(at::equal(parts[static_cast<std::size_t>(rank)], filled(5, rank + 1)));
    }
    at::Tensor output = at::zeros({5});
    group.reduceScatter(output, parts)->wait();
    EXPECT_TRUE(at::equal(output, filled(5, (group.rank() + 1) * group.size())));
  });
}

TEST_P(NcclCollectives, GatherAndScatterGoThroughTheRoot) {
  run([](ProcessGroup& group) {
    for (int root = 0; root < group.size(); ++root) {
      std::vector<at::Tensor> list;
      for (int rank = 0; group.rank() == root && rank < group.size(); ++rank) {
        list.push_back(at::zeros({3}));
      }
      group.gather(list, filled(3, group.rank() * 10), root)->wait();
      for (std::size_t rank = 0; rank < list.size(); ++rank) {
        EXPECT_TRUE(at::equal(list[rank], filled(3, static_cast<double>(rank) * 10)));
        list[rank] += 1;
      }
      at::Tensor mine = at::zeros({3});
      group.scatter(mine, list, root)->wait();
      EXPECT_TRUE(at::equal(mine, filled(3, group.rank() * 10 + 1)));
    }
  });
}

TEST_P(NcclCollectives, ReduceScatterTakesPartsOfOneTensorAndPartsThatLieApart) {
  run([](ProcessGroup& group) {
    const at::Tensor whole = at::arange(group.size(), at::kFloat).unsqueeze(1).repeat({1, 4});
    at::Tensor output = at::zeros({4});
    group.reduceScatter(output, whole.unbind(0))->wait();
    EXPECT_TRUE(at::equal(output, filled(4, group.rank() * group.size())));
    std::vector<at::Tensor> apart;
    for (int rank = 0; rank < group.size(); ++rank) {
      apart.push_back(filled(4, rank + 1));
    }
    group.reduceScatter(apart[static_cast<std::size_t>(group.rank())], apart)->wait();
    EXPECT_TRUE(at::equal(apart[static_cast<std::size_t>(group.rank())],
                          filled(4, (group.rank() + 1) * group.size())))
        << "an output may be this rank's input";
  });
}

TEST_P(NcclCollectives, AlltoallSendsPartsOfDifferentSizesAlsoInPlace) {
  run([](ProcessGroup& group) {
    // Rank r sends r + 1 rows to every rank.
    const int size = group.size();
    const std::vector<std::int64_t> sends(static_cast<std::size_t>(size), group.rank() + 1);
    std::vector<std::int64_t> receives;
    for (int rank = 0; rank < size; ++rank) {
      receives.push_back(rank + 1);
    }
    const at::Tensor input = at::full({size * (group.rank() + 1), 2}, group.rank(), at::kFloat);
    at::Tensor output = at::zeros({size * (size + 1) / 2, 2});
    group.alltoall(output, input, receives, sends)->wait();
    std::int64_t row = 0;
    for (int rank = 0; rank < size; ++rank) {
      for (int i = 0; i <= rank; ++i) {
        EXPECT_EQ(output[row++][0].item<int>(), rank);
      }
    }
    at::Tensor same = at::arange(size, at::kFloat) + group.rank() * 100;
    group.alltoall(same, same)->wait();
    EXPECT_TRUE(at::equal(same, at::arange(size, at::kFloat) * 100 + group.rank()));
  });
}

TEST_P(NcclCollectives, RanksThatSendToEachOtherBeforeTheyReceiveDoNotHang) {
  run([](ProcessGroup& group) {
    const int peer = group.rank() ^ 1;
    if (peer >= group.size()) {
      return;
    }
    const auto sent = group.send(filled(6, group.rank()), peer);
    at::Tensor got = at::zeros({6});
    const auto received = group.recv(got, peer);
    sent->wait();
    received->wait();
    EXPECT_TRUE(at::equal(got, filled(6, peer)));
    EXPECT_EQ(received->sourceRank(), peer);
    EXPECT_EQ(group.sequenceNumber(), 0u) << "they are numbered apart";
  });
}

TEST(NcclArguments, WhatNcclCannotDoIsRefusedAtTheCall) {
  NcclRanks(1).run([](ProcessGroup& group) {
    const auto text = [](auto call) { return textOf<std::invalid_argument>(call); };
    at::Tensor ints = at::ones({3}, at::kInt);
    EXPECT_EQ(text([&] { group.allreduce({ints}, ReduceOp::kBitwiseAnd); }),
              "ProcessGroupNCCL::allreduce: NCCL has no bitwise_and; reduce on the CPU, over "
              "another backend");
    EXPECT_THAT(text([&] { group.allreduce({at::ones({3}, at::kShort)}); }),
                HasSubstr("NCCL has no 16-bit integers; use int32"));
    EXPECT_EQ(group.sequenceNumber(), 0u);
  });
  NcclRanks(2).run([](ProcessGroup& group) {
    const auto text = [](auto call) { return textOf<std::invalid_argument>(call); };
    at::Tensor tensor = at::ones({3});
    EXPECT_THAT(text([&] { group.recv(tensor, ProcessGroup::kAnySource); }),
                HasSubstr("ProcessGroupNCCL::recv: from is any rank; NCCL must be told which"));
    EXPECT_THAT(text([&] { group.send(tensor, 1 - group.rank(), 3); }),
                HasSubstr("ProcessGroupNCCL::send: tag is 3; NCCL has none but 0"));
  });
}

TEST(NcclArguments, TensorsOfAnotherDeviceAreRefusedWithWhatToDo) {
  NcclRanks(1).run([](ProcessGroup& group) {
    EXPECT_THAT(
        textOf<std::invalid_argument>([&] { group.allreduce({at::ones({3}, at::kMeta)}); }),
        HasSubstr("ProcessGroupNCCL::allreduce: a tensor is on meta; this backend takes tensors "
                  "of one cpu device"));
  });
}

TEST(NcclArguments, WithoutADeviceTheGroupIsRefusedInOneSentence) {
  FakeFabric fabric;
  FakeDeviceOptions options;
  options.absent = "no CUDA-capable device is detected";
  const FakePlatform none(fabric, options);
  const auto made =
      makeNccl(none.platform(), std::make_shared<store::HashStore>(), 0, 1, quickOptions());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, base::ExitCode::kEnvironment);
  EXPECT_EQ(made.error().message(),
            "backend \"nccl\": there is no GPU to work on (no CUDA-capable device is detected); "
            "take \"gloo\" or \"auto\", which need none");
}

}  // namespace
}  // namespace lockstep::process_group::nccl

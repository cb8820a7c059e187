// Tensors in memory from allocate(), which the ranks reduce and read where they lie.

#include <gmock/gmock.h>

#include <barrier>
#include <future>
#include <latch>

#include "engine/process_group/Reduction.h"
#include "engine/process_group/shared_memory/Segment.h"
#include "tests/engine/process_group/shared_memory/SharedRanks.h"

namespace lockstep::process_group {
namespace {

using shared_memory::Segment;

at::Tensor allocated(ProcessGroup& group, std::int64_t elements,
                     at::ScalarType dtype = at::kFloat) {
  const auto size = static_cast<std::int64_t>(c10::elementSize(dtype));
  return group.allocate(elements * size).view(dtype);
}

class Exposed : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Exposed, testing::Values(1, 2, 3, 9),
                         [](const auto& info) { return std::to_string(info.param); });

// Sizes round the borders: the board up to 32 KiB or less, then blocks of 128 KiB.
TEST_P(Exposed, AllreduceGivesTheBitsOfTheRankOrderAtEverySize) {
  runShared(GetParam(), [](ProcessGroup& group) {
    for (const std::int64_t elements : {1, 7'000, 8'193, 32'768, 32'769, 100'003, 500'001}) {
      at::Tensor expected;
      at::Tensor mine;
      for (int rank = 0; rank < group.size(); ++rank) {
        const at::Tensor input =
            at::randn({elements}, at::detail::createCPUGenerator(static_cast<unsigned>(rank)));
        expected = rank == 0 ? input.clone() : expected.add_(input);
        if (rank == group.rank()) {
          mine = input;
        }
      }
      at::Tensor tensor = allocated(group, elements).copy_(mine);
      group.allreduce({tensor})->wait();
      EXPECT_TRUE(at::equal(tensor, expected)) << elements;
    }
  });
}

TEST_P(Exposed, AllreduceTakesSomeFromAllocatedAndSomeFromPrivateMemory) {
  runShared(GetParam(), [](ProcessGroup& group) {
    for (const std::int64_t elements : {100'003, 1'000'003}) {
      at::Tensor tensor =
          group.rank() % 2 == 0 ? allocated(group, elements) : at::empty({elements});
      tensor.copy_(at::arange(elements, at::kFloat).remainder(1000) + group.rank());
      group.allreduce({tensor})->wait();
      const double ranks = group.size() * (group.size() - 1) / 2.0;
      EXPECT_TRUE(at::equal(
          tensor, at::arange(elements, at::kFloat).remainder(1000) * group.size() + ranks));
    }
  });
}

TEST_P(Exposed, AllreduceReducesEveryDtypeInBlocksAndInChunks) {
  runShared(GetParam(), [](ProcessGroup& group) {
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kByte,
                                       at::kChar, at::kShort, at::kInt, at::kLong, at::kBool}) {
      for (const bool exposed : {true, false}) {
        constexpr std::int64_t kElements = 700'001;
        at::Tensor tensor =
            exposed ? allocated(group, kElements, dtype) : at::empty({kElements}, dtype);
        tensor.fill_(dtype == at::kBool ? group.rank() == 0 : group.rank() + 1);
        group.allreduce({tensor}, ReduceOp::kMax)->wait();
        const at::Tensor most = at::full({kElements}, dtype == at::kBool ? 1 : group.size(), dtype);
        EXPECT_TRUE(at::equal(tensor, most)) << dtype << (exposed ? " exposed" : " staged");
      }
    }
  });
}

TEST_P(Exposed, PartsOfAllocatedMemoryAreReducedWhereTheyLie) {
  runShared(GetParam(), [](ProcessGroup& group) {
    const at::Tensor bucket = allocated(group, 300'000).fill_(1);
    std::vector<ProcessGroup::WorkPtr> works;
    for (int part = 0; part < 3; ++part) {  // of different sizes, in flight at once
      works.push_back(group.allreduce({bucket.narrow(0, part * 100'000, 50'000 + part * 25'000)}));
    }
    for (const auto& work : works) {
      work->wait();
    }
    const double sum = group.size();
    for (int part = 0; part < 3; ++part) {
      const std::int64_t reduced = 50'000 + part * 25'000;
      EXPECT_TRUE(at::equal(bucket.narrow(0, part * 100'000, reduced), filled(reduced, sum)));
      EXPECT_TRUE(at::equal(bucket.narrow(0, part * 100'000 + reduced, 100'000 - reduced),
                            filled(100'000 - reduced, 1)));
    }
  });
}

TEST_P(Exposed, ShardsOfOneTensorAreReadWhereTheyLie) {
  const std::size_t before = Segment::count();
  std::barrier counted(GetParam());
  runShared(GetParam(), [&](ProcessGroup& group) {
    constexpr std::int64_t kEach = 100'000;
    const at::Tensor bucket = allocated(group, group.size() * kEach).fill_(group.rank() + 1);
    const std::vector<at::Tensor> shards = bucket.split(kEach);
    const at::Tensor mine = shards[static_cast<std::size_t>(group.rank())];
    group.reduceScatter(mine, shards)->wait();
    group.allgather(shards, mine)->wait();
    const double sum = group.size() * (group.size() + 1) / 2.0;
    EXPECT_TRUE(at::equal(bucket, filled(group.size() * kEach, sum)));
    // A bucket a rank and the board; staging would be one more a rank.
    EXPECT_LE(Segment::count(), before + static_cast<std::size_t>(group.size()) + 1);
    counted.arrive_and_wait();
  });
}

TEST_P(Exposed, OtherCollectivesReadItWhereItLies) {
  runShared(GetParam(), [](ProcessGroup& group) {
    constexpr std::int64_t kElements = 400'000;
    const int last = group.size() - 1;
    at::Tensor tensor = allocated(group, kElements).fill_(group.rank() + 1);
    const at::Tensor before = tensor.clone();

    std::vector<at::Tensor> outputs;
    for (int rank = 0; rank < group.size(); ++rank) {
      outputs.push_back(rank % 2 == 0 ? allocated(group, kElements) : at::empty({kElements}));
    }
    group.allgather(outputs, tensor)->wait();
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(rank)], filled(kElements, rank + 1)));
    }
    at::Tensor output = at::empty({kElements});
    group.reduceScatter(output, outputs)->wait();
    EXPECT_TRUE(at::equal(output, filled(kElements, group.size() * (group.rank() + 1.0))));

    group.reduce(tensor, last)->wait();
    const at::Tensor sum = filled(kElements, group.size() * (group.size() + 1) / 2.0);
    EXPECT_TRUE(at::equal(tensor, group.rank() == last ? sum : before));
    group.broadcast({tensor}, last)->wait();
    EXPECT_TRUE(at::equal(tensor, sum));

    const std::int64_t rows = kElements / group.size() * group.size();
    at::Tensor swapped = allocated(group, rows);
    group.alltoall(swapped, allocated(group, rows).fill_(group.rank()))->wait();
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_TRUE(at::equal(swapped.narrow(0, rank * (rows / group.size()), rows / group.size()),
                            filled(rows / group.size(), rank)));
    }
  });
}

TEST(ExposedMemory, IsGivenBackEverywhereWhenItsTensorGoes) {
  const std::size_t before = Segment::count();
  runShared(2, [&](ProcessGroup& group) {
    for (int round = 0; round < 50; ++round) {
      at::Tensor tensor = allocated(group, 100'000).fill_(1);
      group.allreduce({tensor})->wait();
      EXPECT_EQ(tensor[99'999].item<float>(), 2);
    }
    group.barrier()->wait();
    // A board each (of one process they are one), and what a last message is still to take back.
    EXPECT_LE(Segment::count(), before + 8);
  });
  EXPECT_EQ(Segment::count(), before);
}

TEST(ExposedMemory, OutlivesTheGroupThatMadeItAndServesOthers) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    at::Tensor tensor;
    for (const char* name : {"first", "second"}) {
      GroupOptions options = quickOptions();
      options.groupName = name;
      auto made = makeProcessGroup("shared_memory", store, rank, 2, options);
      ASSERT_TRUE(made.ok()) << made.error().message();
      if (!tensor.defined()) {
        tensor = allocated(*made.value(), 200'000).fill_(1);
      }
      made.value()->allreduce({tensor})->wait();
      made.value()->barrier()->wait();
    }
    EXPECT_TRUE(at::equal(tensor, filled(200'000, 4)));
  });
}

TEST(ExposedMemory, SaysHowMuchIsMissingWhenThereIsNoRoom) {
  runShared(2, [](ProcessGroup& group) {
    EXPECT_THAT(textOf<CommError>([&] { group.allocate(std::int64_t{1} << 50); }),
                testing::AllOf(testing::HasSubstr("process group of group default, rank "),
                               testing::HasSubstr("cannot reserve 1125899906842624 bytes")));
    EXPECT_EQ(group.state(), GroupState::kSuccess);
  });
}

TEST(ExposedMemory, IsAlignedToCacheLinesAndPlainInAGroupOfOne) {
  for (const int size : {1, 2}) {
    runShared(size, [](ProcessGroup& group) {
      for (const std::int64_t bytes : {0, 1, 63, 64, 1000, 5 << 20}) {
        const at::Tensor memory = group.allocate(bytes);
        EXPECT_EQ(memory.numel(), bytes);
        EXPECT_EQ(memory.scalar_type(), at::kByte);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data_ptr()) % 64, 0u) << bytes;
        const bool shared = bytes != 0 && Segment::holding(memory.data_ptr(), 1) != nullptr;
        EXPECT_EQ(shared, bytes != 0 && group.size() > 1);
      }
    });
  }
}

// What a rank shows does not need it any more once all have come.
TEST(ExposedMemory, IsReducedForARankThatIsBusy) {
  std::promise<void> reduced;
  runShared(2, [&](ProcessGroup& group) {
    at::Tensor tensor = filled(16, 1);
    const auto work = group.allreduce({tensor});
    if (group.rank() == 0) {
      work->wait();
      reduced.set_value();
    } else {
      reduced.get_future().wait();  // rank 0 is done though nobody here has waited
      work->wait();
    }
    EXPECT_TRUE(at::equal(tensor, filled(16, 2)));
  });
}

}  // namespace
}  // namespace lockstep::process_group

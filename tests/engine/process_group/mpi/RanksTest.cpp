// What the mpi backend does beside the tests of backends/, with this process as a rank.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <limits>

#include "engine/process_group/Subgroups.h"
#include "engine/store/PrefixStore.h"
#include "engine/trace/Event.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/mpi/RankGroup.h"
#include "tests/support/RankRecording.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

std::shared_ptr<ProcessGroup> make(const std::string& prefix, int rank, int size,
                                   GroupOptions options) {
  const auto store = std::make_shared<store::PrefixStore>(prefix, processStore());
  auto made = makeProcessGroup("mpi", store, rank, size, options);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return std::move(made).value();
}

void expectSum(ProcessGroup& group, double expected) {
  at::Tensor tensor = filled(1000, group.rank() + 1);
  group.allreduce({tensor})->wait();
  EXPECT_TRUE(at::equal(tensor, filled(1000, expected)));
}

TEST(MpiRanks, MayHaveOtherNumbersThanMpiGaveThem) {
  const int size = processCount();
  const int rank = size - 1 - processRank();
  const auto group = make("reversed", rank, size, quickOptions());
  at::Tensor tensor = filled(3, rank);
  group->broadcast({tensor}, 0)->wait();
  EXPECT_TRUE(at::equal(tensor, filled(3, 0)));
  std::vector<at::Tensor> outputs;
  for (int i = 0; i < size; ++i) {
    outputs.push_back(at::empty({2}));
  }
  group->allgather(outputs, filled(2, rank))->wait();
  for (int i = 0; i < size; ++i) {
    EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(i)], filled(2, i)));
  }
}

TEST(MpiRanks, AllGetTheSameBitsOfASum) {
  const auto group = make("bits", processRank(), processCount(), quickOptions());
  at::manual_seed(processRank());
  at::Tensor sum = at::randn({300'001});
  group->allreduce({sum})->wait();
  std::vector<at::Tensor> sums;
  for (int i = 0; i < group->size(); ++i) {
    sums.push_back(at::empty_like(sum));
  }
  group->allgather(sums, sum)->wait();
  for (const at::Tensor& other : sums) {
    EXPECT_TRUE(at::equal(other, sum));
  }
}

TEST(MpiRanks, MinAndMaxKeepANaN) {
  const auto group = make("nan", processRank(), processCount(), quickOptions());
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    at::Tensor tensor = filled(3, processRank());
    if (processRank() == 1) {
      tensor[1] = std::numeric_limits<float>::quiet_NaN();
    }
    group->allreduce({tensor}, op)->wait();
    EXPECT_TRUE(at::isnan(tensor)[1].item<bool>());
    EXPECT_FALSE(at::isnan(tensor)[0].item<bool>());
  }
}

TEST(MpiRanks, ReduceAndReduceScatterTakeHalfTypesToo) {
  const auto group = make("halves", processRank(), processCount(), quickOptions());
  const int size = group->size();
  const double sum = size * (size + 1) / 2.0;
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    at::Tensor tensor = at::full({700'001}, processRank() + 1, dtype);
    group->reduce(tensor, 1)->wait();
    EXPECT_TRUE(at::equal(
        tensor, at::full({700'001}, processRank() == 1 ? sum : processRank() + 1, dtype)));
    at::Tensor output = at::empty({33}, dtype);
    group
        ->reduceScatter(output,
                        std::vector<at::Tensor>(static_cast<std::size_t>(size),
                                                at::full({33}, processRank() + 1, dtype)),
                        ReduceOp::kMax)
        ->wait();
    EXPECT_TRUE(at::equal(output, at::full({33}, size, dtype)));
  }
}

// Takes 4 GB a rank.
TEST(MpiRanks, MoveAndAddMoreElementsThanACountOfMpiHolds) {
  if (std::getenv("LOCKSTEP_LARGE_TENSORS") == nullptr) {
    GTEST_SKIP() << "LOCKSTEP_LARGE_TENSORS is not set";
  }
  GroupOptions options = quickOptions();
  options.timeout = std::chrono::minutes(5);
  const auto group = make("large", processRank(), processCount(), options);
  const std::int64_t count = (std::int64_t{1} << 31) + 5;
  at::Tensor tensor = at::full({count}, processRank() + 1, at::kChar);
  group->broadcast({tensor}, 1)->wait();
  EXPECT_TRUE((tensor == 2).all().item<bool>());
  tensor[count - 1] = processRank();
  group->allreduce({tensor})->wait();
  const int size = group->size();
  EXPECT_EQ(tensor[count - 1].item<int>(), size * (size - 1) / 2);
  EXPECT_TRUE((tensor.narrow(0, 0, count - 1) == 2 * size).all().item<bool>());
}

TEST(MpiRanks, ComplexTensorsAreMovedAndNotReduced) {
  const auto group = make("complex", processRank(), processCount(), quickOptions());
  at::Tensor tensor = at::full({5}, c10::complex<float>(1, 2), at::kComplexFloat) * processRank();
  group->broadcast({tensor}, 2)->wait();
  EXPECT_TRUE(at::equal(tensor, at::full({5}, c10::complex<float>(2, 4), at::kComplexFloat)));
  EXPECT_THAT(textOf<std::invalid_argument>([&] { group->allreduce({tensor}); }),
              HasSubstr("tensors of dtype ComplexFloat cannot be reduced"));
}

TEST(MpiRanks, FormSubgroups) {
  const int rank = processRank();
  const auto world = make("world of parts", rank, processCount(), quickOptions());
  Subgroups parts(world, "mpi", std::make_shared<store::PrefixStore>("parts", processStore()),
                  quickOptions(), 1);
  for (const std::vector<int>& ranks : {std::vector<int>{0, 2}, {1, 3}, {0, 1, 3}}) {
    auto made = parts.newGroup(ranks);
    ASSERT_TRUE(made.ok()) << made.error().message();
    const auto part = std::move(made).value();
    if (part->rank() >= 0) {
      const double size = part->size();
      expectSum(*part, size * (size + 1) / 2);
    }
  }
  expectSum(*world, 10);
}

// A rank that is kept waiting asks all others how far they are, one that has left among them. MPI
// gives the number of a communicator that has been freed to the next one, and messages with it.
TEST(MpiRanks, QuestionsToARankThatHasLeftDoNotReachItsNextGroup) {
  const int rank = processRank();
  const int last = processCount() - 1;
  store::PrefixStore told("questions", processStore());
  {
    GroupOptions options = quickOptions();
    options.timeout = std::chrono::seconds(4);  // it asks after a quarter of that, a second at most
    const auto group = make("questions", rank, processCount(), options);
    if (rank == 1) {
      const auto late = [&] { told.wait({"never"}, std::chrono::milliseconds(1500)); };
      EXPECT_THAT(textOf<store::StoreError>(late), HasSubstr("never"));
    }
    std::vector<at::Tensor> outputs;
    for (int i = 0; rank == last && i <= last; ++i) {
      outputs.push_back(at::empty({1}));
    }
    group->gather(outputs, filled(1, rank), last)->wait();
  }
  told.set(fmt::format("rank {} has left", rank), "");
  told.wait({fmt::format("rank {} has left", last)});
  for (int i = 0; rank < 2 && i < 4; ++i) {
    expectSum(*make(fmt::format("pair {}", i), rank, 2, quickOptions()), 3);
  }
}

TEST(MpiRanks, TakeTurnsBetweenCheckedGroups) {
  GroupOptions options = quickOptions();
  options.groupName = "turns";
  options.roundRobin = 3;
  options.check = CheckMode::kAlways;
  const auto group = make("turns", processRank(), processCount(), options);
  for (int i = 0; i < 7; ++i) {
    expectSum(*group, 10);
  }
  EXPECT_EQ(group->sequenceNumber(), 7u);
}

TEST(MpiRanks, RecordWhenACollectiveWasQueuedAndRan) {
  support::RankRecording recorded;
  GroupOptions options = quickOptions();
  options.tracer = &recorded.tracer();
  CallOptions call;
  call.bucket = 5;
  call.step = 17;
  make("events", processRank(), processCount(), options)
      ->allreduce({at::ones({100})}, ReduceOp::kSum, call)
      ->wait();
  auto lanes = recorded.lanes();
  ASSERT_EQ(lanes["mpi queue"].size(), 1u);
  const trace::Event queued = lanes["mpi queue"][0];
  EXPECT_EQ(queued.value, trace::packCollective(1, 400));
  std::vector<trace::Event> ran = lanes["mpi 0"];
  ran.insert(ran.end(), lanes["mpi 1"].begin(), lanes["mpi 1"].end());
  ASSERT_EQ(ran.size(), 1u);
  EXPECT_EQ(ran[0].kind, static_cast<std::uint16_t>(trace::EventKind::kCollective));
  EXPECT_EQ(ran[0].value, queued.value);
  EXPECT_EQ(ran[0].bucket, 5);
  EXPECT_EQ(ran[0].step, 17u);
  EXPECT_GE(ran[0].startTicks, queued.startTicks);
  const auto size = static_cast<std::uint64_t>(processCount());
  EXPECT_EQ(recorded.tracer().sentBytes(), 2 * 400 * (size - 1) / size);
  EXPECT_EQ(recorded.tracer().lastWords().operation.load(), 0);
}

TEST(MpiRanks, LeaveManyOperationsOfTwoGroupsInFlight) {
  const auto one = make("one", processRank(), processCount(), quickOptions());
  const auto other = make("other", processRank(), processCount(), quickOptions());
  std::vector<at::Tensor> tensors;
  std::vector<ProcessGroup::WorkPtr> works;
  for (int i = 0; i < 200; ++i) {
    const bool half = i % 3 == 0;  // two rounds of messages instead of MPI's reduction
    tensors.push_back(at::full({i % 5 == 0 ? 300'000 : 10}, 1, half ? at::kHalf : at::kFloat));
    works.push_back((i % 2 == 0 ? one : other)->allreduce({tensors.back()}));
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    works[i]->wait();
    ASSERT_TRUE(at::equal(tensors[i], at::full_like(tensors[i], processCount()))) << i;
  }
}

}  // namespace
}  // namespace lockstep::process_group

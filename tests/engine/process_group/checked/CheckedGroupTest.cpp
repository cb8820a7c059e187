#include "engine/process_group/checked/CheckedGroup.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <latch>

#include "engine/trace/Event.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/engine/process_group/checked/StandIn.h"
#include "tests/support/RankRecording.h"

namespace lockstep::process_group {
namespace {

CallOptions atStep(std::uint32_t step, std::uint16_t bucket = trace::kNoBucket) {
  CallOptions options;
  options.step = step;
  options.bucket = bucket;
  return options;
}

class CheckedGroups : public testing::TestWithParam<int> {};

TEST_P(CheckedGroups, CarryEveryCollective) {
  runGroup(
      GetParam(),
      [](ProcessGroup& group) {
        const int size = group.size();
        const int rank = group.rank();
        const auto n = static_cast<std::size_t>(size);
        const auto likes = [&] {
          std::vector<at::Tensor> list;
          for (std::size_t i = 0; i < n; ++i) {
            list.push_back(filled(3, static_cast<double>(i)));
          }
          return list;
        };
        at::Tensor tensor = filled(3, rank);
        group.broadcast({tensor}, size - 1)->wait();
        EXPECT_TRUE(at::equal(tensor, filled(3, size - 1)));
        tensor.fill_(1);
        group.allreduce({tensor}, ReduceOp::kAverage)->wait();
        EXPECT_TRUE(at::equal(tensor, filled(3, 1)));
        group.reduce(tensor, 0)->wait();
        EXPECT_TRUE(at::equal(tensor, filled(3, rank == 0 ? size : 1)));
        std::vector<at::Tensor> outputs = likes();
        group.allgather(outputs, filled(3, rank * 2))->wait();
        EXPECT_TRUE(at::equal(outputs.back(), filled(3, (size - 1) * 2)));
        group.gather(rank == 0 ? outputs : std::vector<at::Tensor>{}, filled(3, rank), 0)->wait();
        if (rank == 0) {
          EXPECT_TRUE(at::equal(outputs.back(), filled(3, size - 1)));
        }
        group.scatter(tensor, rank == 0 ? likes() : std::vector<at::Tensor>{}, 0)->wait();
        EXPECT_TRUE(at::equal(tensor, filled(3, rank)));
        group.reduceScatter(tensor, likes())->wait();
        EXPECT_TRUE(at::equal(tensor, filled(3, rank * size)));
        at::Tensor swapped = filled(size, -1);
        group.alltoall(swapped, filled(size, rank))->wait();
        EXPECT_TRUE(at::equal(swapped, at::arange(size).to(at::kFloat)));
        const auto last = group.barrier();
        last->wait();
        EXPECT_EQ(group.sequenceNumber(), 9u);
        EXPECT_EQ(last->sequence(), 9u);
        EXPECT_EQ(dynamic_cast<CheckedGroup&>(group).inner().sequenceNumber(), 9u)
            << "checks take no numbers of the group";
      },
      alwaysChecked());
}

INSTANTIATE_TEST_SUITE_P(Ranks, CheckedGroups, testing::Values(1, 2, 3));

TEST(CheckedGroup, KeepsTheOrderOfManyCallsInFlight) {
  runGroup(2, [](ProcessGroup& group) {
    std::vector<at::Tensor> tensors;
    std::vector<ProcessGroup::WorkPtr> works;
    for (int i = 0; i < 200; ++i) {
      tensors.push_back(filled(1 + i % 7, group.rank() + i));
      works.push_back(i % 5 == 0 ? group.broadcast({tensors.back()}, 1)
                                 : group.allreduce({tensors.back()}));
    }
    group.barrier()->wait();
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(works[static_cast<std::size_t>(i)]->isSuccess());
      EXPECT_EQ(works[static_cast<std::size_t>(i)]->sequence(), static_cast<std::uint64_t>(i + 1));
      EXPECT_EQ(tensors[static_cast<std::size_t>(i)][0].item<float>(), i % 5 == 0 ? 1 + i : 2 * i + 1);
    }
  }, alwaysChecked());
}

/// Its operations end when the test says so.
class EndedByHand final : public StandIn {
 public:
  using StandIn::StandIn;

  std::vector<std::shared_ptr<WorkState>> works;
  std::latch made{2};

 protected:
  WorkPtr start(Request request) override {
    works.push_back(std::make_shared<WorkState>(CommError::Where{}, request.outputs, timeout()));
    const WorkPtr work = works.back();
    made.count_down();
    return work;
  }
};

TEST(CheckedGroup, EndsABarrierAfterAllEarlierCallsWhateverThreadEndsThose) {
  runGroup(2, [](ProcessGroup& checks) {
    const auto inner = std::make_shared<EndedByHand>(checks.rank());
    CheckedGroup::Options options;
    options.mode = CheckMode::kAlways;
    CheckedGroup group(inner, {std::shared_ptr<void>(), &checks}, options);
    const auto reduced = group.allreduce({filled(4, 1)});
    const auto passed = group.barrier();
    inner->made.wait();
    // As where the thread that ended the all-reduce has yet to say so here.
    inner->works[1]->succeed();
    EXPECT_FALSE(passed->isCompleted());
    inner->works[0]->succeed();
    EXPECT_TRUE(reduced->isSuccess());
    passed->wait();
    checks.barrier()->wait();
  });
}

TEST(CheckedGroup, LetsMessagesOfTwoRanksPassUnchecked) {
  runGroup(3, [](ProcessGroup& group) {
    // Rank 2 takes no part.
    if (group.rank() == 0) {
      group.send(filled(4, 3), 1)->wait();
    } else if (group.rank() == 1) {
      at::Tensor tensor = filled(4, 0);
      group.recv(tensor, 0)->wait();
      EXPECT_EQ(tensor[3].item<float>(), 3);
    }
  }, alwaysChecked());
}

TEST(CheckedGroup, RefusesArgumentsAtTheCall) {
  runGroup(2, [](ProcessGroup& group) {
    EXPECT_EQ(textOf<std::invalid_argument>([&] { group.broadcast({filled(1, 1)}, 5); }),
              "gloo::broadcast: root is 5; ranks of this group are 0 to 1");
    EXPECT_EQ(group.sequenceNumber(), 0u);
  }, alwaysChecked());
}

TEST(CheckedGroup, MayBeCalledFromACallbackOfItsOwn) {
  runGroup(2, [](ProcessGroup& group) {
    at::Tensor first = filled(2, 1);
    at::Tensor second = filled(2, 1);
    base::Future<int> done;
    group.allreduce({first})->future().whenComplete([&](const auto&) {
      group.allreduce({second})->future().whenComplete([&](const auto&) { done.setValue(1); });
    });
    ASSERT_TRUE(done.waitFor(std::chrono::seconds(10)));
    EXPECT_EQ(second[0].item<float>(), 2);
  }, alwaysChecked());
}

TEST(CheckedGroup, EndsTheFirstStepsAtTheSameCallOnAllRanks) {
  support::RankRecording recorded;
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    GroupOptions options = quickOptions();
    options.check = CheckMode::kFirst;
    options.checkSteps = 2;
    options.tracer = rank == 0 ? &recorded.tracer() : nullptr;
    auto made = makeProcessGroup("gloo", store, rank, 2, options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    ProcessGroup& group = *made.value();
    std::vector<ProcessGroup::WorkPtr> works;
    for (std::uint32_t step = 0; step < 6; ++step) {
      // Rank 1 has no inputs after its first step: its count stands still.
      works.push_back(
          group.allreduce({filled(5, 1)}, ReduceOp::kMax, atStep(rank == 0 ? step : 0, 4)));
    }
    for (const auto& work : works) {
      work->wait();
    }
    group.barrier()->wait();
  });
  const auto lanes = recorded.lanes();
  ASSERT_TRUE(lanes.contains("check"));
  const std::vector<trace::Event>& checks = lanes.at("check");
  ASSERT_EQ(checks.size(), 3u) << "steps 0, 1 and the first of step 2";
  for (std::size_t i = 0; i < checks.size(); ++i) {
    EXPECT_EQ(checks[i].kind, static_cast<std::uint16_t>(trace::EventKind::kChecked));
    EXPECT_EQ(checks[i].step, i);
    EXPECT_EQ(checks[i].bucket, 4);
    EXPECT_EQ(checks[i].value, trace::packCollective(i + 1, 20));
    EXPECT_EQ(checks[i].detail, trace::packOperation(trace::Operation::kAllreduce));
  }
}

TEST(CheckedGroup, SendsOneRecordACallAndNothingOnceTheFirstStepsAreOver) {
  support::RankRecording recorded;
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    const auto make = [&](const std::string& name, trace::Tracer* tracer) {
      GroupOptions options = quickOptions();
      options.groupName = name;
      options.tracer = tracer;
      auto made = makeProcessGroup("gloo", store, rank, 2, options);
      EXPECT_TRUE(made.ok()) << made.error().message();
      return std::move(made).value();
    };
    const auto checks = make("checks", rank == 0 ? &recorded.tracer() : nullptr);
    CheckedGroup group(make("inner", nullptr), checks, {CheckMode::kFirst, 2, nullptr, 0});
    const at::Tensor tensor = filled(5, 1);
    for (std::uint32_t step = 0; step < 50; ++step) {
      group.allreduce({tensor}, ReduceOp::kMax, atStep(step))->wait();
      EXPECT_EQ(checks->sequenceNumber(), std::min(step + 1, 3u)) << "step " << step;
    }
    EXPECT_EQ(group.inner().sequenceNumber(), 50u);
    checks->barrier()->wait();
  });
  EXPECT_EQ(recorded.tracer().sentBytes(), 3 * sizeof(checked::CheckRecord));
}

TEST(CheckedGroup, RefusesAGroupOfOtherRanksForItsChecks) {
  const auto store = std::make_shared<store::HashStore>();
  const auto make = [&](const std::string& name) {
    GroupOptions options = quickOptions();
    options.groupName = name;
    auto made = makeProcessGroup("gloo", store, 0, 1, options);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  };
  const auto one = make("one");
  runGroup(2, [&](ProcessGroup& group) {
    const std::shared_ptr<ProcessGroup> two(&group, [](ProcessGroup*) {});
    EXPECT_THAT(textOf<std::invalid_argument>([&] { CheckedGroup(two, one, {}); }),
                testing::HasSubstr("the group of the checks is rank 0 of 1"));
  });
}

}  // namespace
}  // namespace lockstep::process_group

#include "engine/process_group/shaped/ShapedGroup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/engine/process_group/shaped/ShapedThreads.h"
#include "tests/support/RankRecording.h"

namespace lockstep::process_group {
namespace {

TEST(ShapedGroup, GivesTheResultsOfTheGroupBelow) {
  runShaped(3, linkOf(50, 1), [](ProcessGroup& group, ProcessGroup&) {
    const int rank = group.rank();
    const auto mine = [&] { return at::full({4}, static_cast<double>(rank + 1), at::kFloat); };
    at::Tensor sum = mine();
    group.allreduce({sum})->wait();
    EXPECT_EQ(sum[0].item<float>(), 6);
    at::Tensor sent = mine();
    group.broadcast({sent}, 2)->wait();
    EXPECT_EQ(sent[0].item<float>(), 3);
    at::Tensor reduced = mine();
    group.reduce(reduced, 1)->wait();
    EXPECT_EQ(reduced[0].item<float>(), rank == 1 ? 6 : rank + 1);
    std::vector<at::Tensor> all{at::empty({4}), at::empty({4}), at::empty({4})};
    const auto gathered = group.allgather(all, mine());
    gathered->wait();
    EXPECT_EQ(gathered->result()[1][0].item<float>(), 2);
    group.gather(rank == 0 ? all : std::vector<at::Tensor>{}, mine(), 0)->wait();
    const std::vector<at::Tensor> pieces{mine(), mine() * 10, mine() * 100};
    at::Tensor piece = at::empty({4});
    group.scatter(piece, rank == 0 ? pieces : std::vector<at::Tensor>{}, 0)->wait();
    EXPECT_EQ(piece[0].item<float>(), rank == 0 ? 1 : rank == 1 ? 10 : 100);
    group.reduceScatter(piece, pieces)->wait();
    EXPECT_EQ(piece[0].item<float>(), rank == 0 ? 6 : rank == 1 ? 60 : 600);
    at::Tensor exchanged = at::empty({3});
    group.alltoall(exchanged, at::full({3}, static_cast<float>(rank)))->wait();
    EXPECT_EQ(exchanged[2].item<float>(), 2);
    if (rank == 0) {
      group.send(mine(), 1, 5)->wait();
    } else if (rank == 1) {
      const auto received = group.recv(piece, ProcessGroup::kAnySource, 5);
      received->wait();
      EXPECT_EQ(received->sourceRank(), 0);
      EXPECT_EQ(piece[0].item<float>(), 1);
    }
    group.barrier()->wait();
    EXPECT_GT(group.sequenceNumber(), 0u);
    EXPECT_EQ(group.backendName(), "gloo");
  });
}

TEST(ShapedGroup, NeverEndsBeforeTheModelledTime) {
  // 1 MB at 1 Gbit/s: 8.39 ms, and two hops of 1 ms.
  runShaped(2, linkOf(1, 1000), [](ProcessGroup& group, ProcessGroup&) {
    at::Tensor data = at::ones({1 << 18});
    EXPECT_GE(millisecondsOf([&] { group.allreduce({data})->wait(); }), 10.38);
  });
}

TEST(ShapedGroup, DoesNotHoldUpTheCaller) {
  runShaped(2, linkOf(0.1, 0), [](ProcessGroup& group, ProcessGroup&) {
    at::Tensor data = at::ones({1 << 18});  // 84 ms of link
    ProcessGroup::WorkPtr work;
    const double call = millisecondsOf([&] { work = group.allreduce({data}); });
    EXPECT_LT(call, 42);
    EXPECT_FALSE(work->isCompleted());
    work->wait();
    EXPECT_TRUE(work->isSuccess());
  });
}

TEST(ShapedGroup, LetsConcurrentOperationsQueueOnTheLink) {
  runShaped(2, linkOf(0.5, 0), [](ProcessGroup& group, ProcessGroup&) {
    at::Tensor a = at::ones({1 << 17});  // 8.39 ms each
    at::Tensor b = at::ones({1 << 17});
    at::Tensor c = at::ones({1 << 17});
    const double took = millisecondsOf([&] {
      const auto first = group.allreduce({a});
      const auto second = group.allreduce({b});
      const auto third = group.allreduce({c});
      third->wait();
      EXPECT_TRUE(first->isSuccess());
      EXPECT_TRUE(second->isSuccess());
    });
    EXPECT_GE(took, 25);
  });
}

/// Four allreduces, called at once, that cost nothing but 2 x 5 ms of latency: that they take
/// `leastMs`, and in the best of some rounds less than a latency more.
void expectFourLatencies(ProcessGroup& first, ProcessGroup& second, double leastMs) {
  at::Tensor best = at::tensor(1e9);
  for (int round = 0; round < 20 && best.item<double>() >= leastMs + 10; ++round) {
    std::vector<ProcessGroup::WorkPtr> works;
    const double took = millisecondsOf([&] {
      for (int call = 0; call < 4; ++call) {
        works.push_back((call % 2 == 0 ? first : second).allreduce({at::ones({8})}));
      }
      for (const auto& work : works) {
        work->wait();
      }
    });
    best = at::minimum(best, at::tensor(took));
    first.allreduce({best}, ReduceOp::kMin)->wait();  // all ranks stop in the same round
  }
  EXPECT_GE(best.item<double>(), leastMs);
  EXPECT_LT(best.item<double>(), leastMs + 10);
}

TEST(ShapedGroup, LetsAsManyCollectivesTravelAtOnceAsTheLinkSays) {
  cost::LinkOptions link = linkOf(0, 5000);
  for (const auto& [inFlight, leastMs] : {std::pair{1, 40}, {2, 20}, {3, 20}, {0, 10}}) {
    link.inFlight = inFlight;
    runShaped(2, link, [leastMs = leastMs](ProcessGroup& group, ProcessGroup&) {
      expectFourLatencies(group, group, leastMs);
    });
  }
}

TEST(ShapedGroup, LetsTheLatenciesOfTwoGroupsPassAtTheSameTime) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    ShapedOptions options;
    options.link = linkOf(0, 5000);
    options.clock = std::make_shared<LinkClock>();
    std::vector<std::shared_ptr<ProcessGroup>> groups;
    for (const char* name : {"first", "second"}) {
      GroupOptions inner;
      inner.groupName = name;
      auto below = makeProcessGroup("gloo", store, rank, 2, inner);
      ASSERT_TRUE(below.ok());
      auto made = ShapedGroup::make(below.value(), *store, options);
      ASSERT_TRUE(made.ok());
      groups.push_back(std::move(made).value());
    }
    expectFourLatencies(*groups[0], *groups[1], 20);
  });
}

TEST(ShapedGroup, StartsTheTransferWhenTheLastRankHasCome) {
  std::promise<void> late;
  std::shared_future<void> come = late.get_future().share();
  std::atomic<std::int64_t> arrived{0};
  std::atomic<std::int64_t> ended{0};
  runShaped(2, linkOf(0.5, 0), [&](ProcessGroup& group, ProcessGroup&) {
    at::Tensor data = at::ones({1 << 18});  // 16.8 ms
    if (group.rank() == 0) {
      const auto work = group.allreduce({data});
      EXPECT_EQ(work->isCompleted(), false);
      late.set_value();
      work->wait();
      ended = base::monotonicNs();
    } else {
      come.wait();
      arrived = base::monotonicNs();
      group.allreduce({data})->wait();
    }
  });
  EXPECT_GE(ended - arrived, 16'000'000);
}

TEST(ShapedGroup, ShowsTheAddedTimeAsASpan) {
  support::RankRecording recorded;
  runShaped(
      2, linkOf(1, 0),
      [](ProcessGroup& group, ProcessGroup&) {
        CallOptions options;
        options.bucket = 4;
        options.step = 21;
        group.allreduce({at::ones({1 << 18})}, ReduceOp::kSum, options)->wait();
      },
      &recorded.tracer());
  const auto shaped = recorded.lanes()["shaped link"];
  ASSERT_EQ(shaped.size(), 1u);
  EXPECT_EQ(shaped[0].kind, static_cast<std::uint16_t>(trace::EventKind::kShaped));
  EXPECT_EQ(shaped[0].bucket, 4);
  EXPECT_EQ(shaped[0].step, 21u);
  EXPECT_GT(shaped[0].durationTicks, 0u);
  EXPECT_EQ(trace::collectiveBytes(shaped[0].value), std::uint64_t{4} << 18);
  EXPECT_EQ(trace::operationOf(shaped[0].detail), trace::Operation::kAllreduce);
}

TEST(ShapedGroup, RefusesALinkThatTheBackendIsHardlyFasterThan) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    auto inner = makeProcessGroup("gloo", store, rank, 2, {});
    ASSERT_TRUE(inner.ok());
    ShapedOptions options;
    options.link = linkOf(100'000, 1);
    const auto made = ShapedGroup::make(inner.value(), *store, options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, base::ExitCode::kBadInput);
    const std::string text = made.error().message();
    EXPECT_NE(text.find("1e+05 Gbit/s is more than half of the "), std::string::npos) << text;
    EXPECT_NE(text.find("link.simulate_anyway"), std::string::npos) << text;
    inner.value()->barrier()->wait();
  });
}

TEST(ShapedGroup, FailsWhatCannotEndWithinItsTimeLimit) {
  runShaped(2, linkOf(0.001, 0), [](ProcessGroup& group, ProcessGroup&) {
    CallOptions options;
    options.timeout = std::chrono::seconds(5);
    at::Tensor data = at::ones({1 << 20});  // half a minute
    try {
      group.allreduce({data}, ReduceOp::kSum, options)->wait();
      ADD_FAILURE() << "it ended";
    } catch (const CommError& error) {
      EXPECT_TRUE(error.where().timedOut);
      EXPECT_NE(std::string(error.what())
                    .find("the shaped link would be done with its 4194304 "
                          "bytes 335"),
                std::string::npos)
          << error.what();
    }
  });
}

TEST(ShapedGroup, WakesWhoeverWaitsForTheLinkWhenItIsAborted) {
  std::latch below(2);
  runShaped(2, linkOf(0.01, 0), [&](ProcessGroup& group, ProcessGroup& inner) {
    at::Tensor data = at::ones({1 << 20});  // 3.4 s
    const auto work = group.allreduce({data});
    inner.barrier()->wait();  // the operation below is over: only the link is waited for
    below.arrive_and_wait();
    const double took = millisecondsOf([&] {
      group.abort("enough");
      EXPECT_THROW(work->wait(), CommError);
    });
    EXPECT_LT(took, 1000);
  });
}

// A group whose operations end when the test says so.
class Puppet final : public ProcessGroup {
 public:
  Puppet() : ProcessGroup(0, 1, "puppet", "puppet", Devices::kCpu, std::chrono::seconds(20)) {}
  [[nodiscard]] std::string backendName() const override { return "puppet"; }
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return works.size(); }
  void abort(const std::string& reason) override {
    for (const auto& work : std::vector(works)) {  // callbacks may add to them
      work->fail(std::make_exception_ptr(CommError({}, reason)));
    }
  }

  std::vector<std::shared_ptr<WorkState>> works;
  bool failsEarlierOnes = false;  // inside of each call
  bool refuses = false;

 protected:
  WorkPtr start(Request request) override {
    if (refuses) {
      throw std::invalid_argument("not with me");
    }
    auto work = std::make_shared<WorkState>(CommError::Where{}, request.outputs, timeout());
    if (request.call.operation == trace::Operation::kBarrier) {
      work->succeed();
      return work;
    }
    if (failsEarlierOnes) {
      abort("out of spite");
    }
    works.push_back(work);
    return work;
  }
};

std::shared_ptr<ProcessGroup> shapedOver(const std::shared_ptr<Puppet>& puppet,
                                         const cost::LinkOptions& link, store::Store& store) {
  ShapedOptions options;
  options.link = link;
  options.simulateAnyway = true;
  auto made = ShapedGroup::make(puppet, store, options);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return std::move(made).value();
}

TEST(ShapedGroup, MayBeToldOfAnEndWhileItCallsTheGroupBelow) {
  const auto puppet = std::make_shared<Puppet>();
  store::HashStore store;
  const auto group = shapedOver(puppet, {}, store);
  const auto first = group->allreduce({at::ones({2})});
  ProcessGroup::WorkPtr third;
  first->future().whenComplete([&](const auto&) { third = group->allreduce({at::ones({2})}); });
  puppet->failsEarlierOnes = true;
  const auto second = group->allreduce({at::ones({2})});
  EXPECT_THROW(first->wait(), CommError);
  ASSERT_NE(third, nullptr);
  group->abort("the end");
  EXPECT_THROW(second->wait(), CommError);
  EXPECT_THROW(third->wait(), CommError);
}

TEST(ShapedGroup, FailsWhatWaitsForItsTurnOnTheLinkWhenItIsAborted) {
  const auto puppet = std::make_shared<Puppet>();
  store::HashStore store;
  const auto group = shapedOver(puppet, linkOf(1, 0), store);
  const auto first = group->allreduce({at::ones({2})});
  const auto second = group->allreduce({at::ones({2})});
  puppet->works[1]->succeed();  // done below, behind one that is not
  EXPECT_FALSE(second->isCompleted());
  group->abort("enough");
  EXPECT_THROW(first->wait(), CommError);
  EXPECT_THROW(second->wait(), CommError);
}

TEST(ShapedGroup, GivesNoNumberToACallThatTheGroupBelowRefuses) {
  const auto puppet = std::make_shared<Puppet>();
  store::HashStore store;
  const auto group = shapedOver(puppet, linkOf(1, 0), store);
  const auto board = ArrivalBoard::open(store, "shaped/puppet", 1, 1);
  ASSERT_NE(board, nullptr);
  puppet->refuses = true;
  EXPECT_THROW(group->allreduce({at::ones({2})}), std::invalid_argument);
  EXPECT_THROW(group->allreduce({at::ones({2})}), std::invalid_argument);
  puppet->refuses = false;
  const std::int64_t before = base::monotonicNs();
  const auto work = group->allreduce({at::ones({2})});
  EXPECT_GE(board->read(0, 1), before);
  EXPECT_EQ(board->read(0, 2), std::nullopt);
  group->abort("the end");
}

TEST(ShapedGroup, PassesOnAnErrorOfTheGroupBelow) {
  runShaped(2, linkOf(1, 10), [](ProcessGroup& group, ProcessGroup&) {
    EXPECT_THROW(group.allreduce({}), std::invalid_argument);
    EXPECT_THROW(group.broadcast({at::ones({2})}, 7), std::invalid_argument);
    at::Tensor sum = at::ones({2});
    group.allreduce({sum})->wait();  // the refused calls took no number
    EXPECT_EQ(sum[0].item<float>(), 2);
  });
}

}  // namespace
}  // namespace lockstep::process_group

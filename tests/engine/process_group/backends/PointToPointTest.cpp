#include <gmock/gmock.h>

#include <future>
#include <set>

#include "tests/engine/process_group/Backends.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

using PointToPoint = BackendTest;
LOCKSTEP_OVER_BACKENDS(PointToPoint);

TEST_P(PointToPoint, EveryRankSendsToAndReceivesFromAll) {
  runGroup(4, [](ProcessGroup& group) {
    std::vector<ProcessGroup::WorkPtr> works;
    std::vector<at::Tensor> received(4);
    for (int peer = 0; peer < 4; ++peer) {
      if (peer != group.rank()) {
        received[static_cast<std::size_t>(peer)] = at::empty({1000});
        works.push_back(group.recv(received[static_cast<std::size_t>(peer)], peer));
      }
    }
    for (int peer = 0; peer < 4; ++peer) {
      if (peer != group.rank()) {
        works.push_back(group.send(filled(1000, group.rank() * 10 + peer), peer));
      }
    }
    for (const auto& work : works) {
      work->wait();
    }
    for (int peer = 0; peer < 4; ++peer) {
      if (peer != group.rank()) {
        EXPECT_TRUE(at::equal(received[static_cast<std::size_t>(peer)],
                              filled(1000, peer * 10 + group.rank())));
      }
    }
  });
}

TEST_P(PointToPoint, MatchesByTagWhateverTheOrder) {
  runGroup(2, [](ProcessGroup& group) {
    if (group.rank() == 0) {
      const auto first = group.send(filled(3, 1), 1, 7);
      const auto second = group.send(filled(3, 2), 1, 8);
      first->wait();
      second->wait();
    } else {
      at::Tensor eight = at::empty({3});
      at::Tensor seven = at::empty({3});
      group.recv(eight, 0, 8)->wait();
      group.recv(seven, 0, 7)->wait();
      EXPECT_TRUE(at::equal(eight, filled(3, 2)));
      EXPECT_TRUE(at::equal(seven, filled(3, 1)));
    }
  });
}

TEST_P(PointToPoint, KeepsTheOrderWithinATag) {
  runGroup(2, [](ProcessGroup& group) {
    constexpr int kMessages = 300;
    std::vector<ProcessGroup::WorkPtr> works;
    std::vector<at::Tensor> tensors;
    for (int i = 0; i < kMessages; ++i) {
      tensors.push_back(filled(1 + i % 5, group.rank() == 0 ? i : -1));
      works.push_back(group.rank() == 0 ? group.send(tensors.back(), 1)
                                        : group.recv(tensors.back(), 0));
    }
    for (int i = 0; i < kMessages; ++i) {
      works[static_cast<std::size_t>(i)]->wait();
      ASSERT_TRUE(at::equal(tensors[static_cast<std::size_t>(i)], filled(1 + i % 5, i)));
    }
  });
}

TEST_P(PointToPoint, TakesFromAnySourceAndSaysFromWhom) {
  runGroup(4, [](ProcessGroup& group) {
    if (group.rank() != 0) {
      group.send(filled(10, group.rank()), 0, 3)->wait();
      return;
    }
    std::set<int> sources;
    for (int i = 0; i < 3; ++i) {
      at::Tensor tensor = at::empty({10});
      const auto work = group.recv(tensor, ProcessGroup::kAnySource, 3);
      work->wait();
      EXPECT_TRUE(at::equal(tensor, filled(10, work->sourceRank())));
      sources.insert(work->sourceRank());
    }
    EXPECT_EQ(sources, (std::set<int>{1, 2, 3}));
  });
}

TEST_P(PointToPoint, MovesLargeStridedAndEmptyTensors) {
  runGroup(2, [](ProcessGroup& group) {
    const at::Tensor large = at::arange(3'000'000, at::kFloat);
    const at::Tensor strided = at::arange(12, at::kFloat).view({3, 4}).t();
    if (group.rank() == 0) {
      group.send(large, 1)->wait();
      group.send(strided, 1)->wait();
      group.send(at::empty({0}), 1)->wait();
    } else {
      at::Tensor first = at::empty({3'000'000});
      at::Tensor second = at::empty({3, 4}).t();
      group.recv(first, 0)->wait();
      group.recv(second, 0)->wait();
      const auto work = group.recv(at::empty({0}), 0);
      work->wait();
      EXPECT_TRUE(at::equal(first, large));
      EXPECT_TRUE(at::equal(second, strided));
      EXPECT_EQ(work->sourceRank(), 0);
    }
  });
}

TEST_P(PointToPoint, KeepsWhatComesBeforeItsReceiveInItsOfferOrAtItsSender) {
  // 64 KiB travel inside the offer, a float more does not.
  const std::vector<std::int64_t> lengths{0, 1, 16'383, 16'384, 16'385, 100'000};
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      std::vector<ProcessGroup::WorkPtr> works;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        at::Tensor tensor = at::arange(lengths[i], at::kFloat);
        works.push_back(group.send(tensor, 1, static_cast<int>(i)));
      }
      works.push_back(group.send(filled(1, 1), 1, 99));
      for (const auto& work : works) {
        work->wait();
      }
      return;
    }
    group.recv(at::empty({1}), 0, 99)->wait();  // the others came before it
    for (std::size_t i = lengths.size(); i-- > 0;) {
      at::Tensor tensor = at::empty({lengths[i]});
      group.recv(tensor, 0, static_cast<int>(i))->wait();
      EXPECT_TRUE(at::equal(tensor, at::arange(lengths[i], at::kFloat))) << lengths[i];
    }
  });
}

TEST_P(PointToPoint, HearsRanksThatShareAThread) {
  constexpr int kRanks = 11;  // two more than have a thread for themselves
  runGroup(kRanks, [](ProcessGroup& group) {
    std::vector<ProcessGroup::WorkPtr> works;
    std::vector<at::Tensor> received;
    for (int step = 1; step < kRanks; ++step) {
      received.push_back(at::empty({100}));
      works.push_back(group.recv(received.back(), (group.rank() + kRanks - step) % kRanks));
      works.push_back(
          group.send(filled(100, group.rank()), (group.rank() + step) % kRanks));
    }
    for (const auto& work : works) {
      work->wait();
    }
    for (int step = 1; step < kRanks; ++step) {
      EXPECT_TRUE(at::equal(received[static_cast<std::size_t>(step - 1)],
                            filled(100, (group.rank() + kRanks - step) % kRanks)));
    }
  });
}

TEST_P(PointToPoint, GoesOnBetweenTwoRanksWhenAThirdHasLeft) {
  const auto store = std::make_shared<store::HashStore>();
  std::promise<void> left;
  const auto gone = left.get_future().share();
  support::runRanks(3, [&](int rank) {
    auto made = makeProcessGroup(backend(), store, rank, 3, quickOptions());
    ASSERT_TRUE(made.ok()) << made.error().message();
    std::shared_ptr<ProcessGroup> group = std::move(made).value();
    const auto pass = [&](int ranks) {
      at::Tensor token = filled(4, rank);
      const auto received = group->recv(token, (rank + ranks - 1) % ranks);
      group->send(filled(4, rank), (rank + 1) % ranks)->wait();
      received->wait();
      EXPECT_EQ(token[0].item<float>(), static_cast<float>((rank + ranks - 1) % ranks));
    };
    pass(3);
    if (rank == 2) {
      group.reset();
      left.set_value();
      return;
    }
    gone.wait();
    for (int round = 0; round < 1000; ++round) {
      pass(2);
    }
    EXPECT_EQ(group->state(), GroupState::kSuccess);
  });
}

TEST_P(PointToPoint, RefusesAnotherSizeOnBothSidesAndKeepsTheGroup) {
  runGroup(2, [](ProcessGroup& group) {
    if (group.rank() == 0) {
      EXPECT_EQ(textOf<CommError>([&] { group.send(filled(4, 1), 1)->wait(); }),
                "send #1 of group default, rank 0: rank 1 expects 3 Float, this rank sends 4 "
                "Float");
      EXPECT_THAT(textOf<CommError>([&] { group.send(at::ones({3}, at::kInt), 1)->wait(); }),
                  HasSubstr("rank 1 expects 3 Float, this rank sends 3 Int"));
    } else {
      at::Tensor tensor = at::zeros({3});
      EXPECT_EQ(textOf<CommError>([&] { group.recv(tensor, 0)->wait(); }),
                "recv #1 of group default, rank 1: rank 0 sends 4 Float, this rank expects 3 "
                "Float");
      EXPECT_THAT(textOf<CommError>([&] { group.recv(tensor, 0)->wait(); }),
                  HasSubstr("rank 0 sends 3 Int, this rank expects 3 Float"));
      EXPECT_TRUE(at::equal(tensor, at::zeros({3}))) << "nothing was written";
    }
    at::Tensor sum = filled(5, 1);
    group.allreduce({sum})->wait();
    EXPECT_TRUE(at::equal(sum, filled(5, 2)));
  });
}

TEST_P(PointToPoint, GivesUpAWaitWithoutEndingTheOperation) {
  std::promise<void> gaveUp;
  runGroup(2, [&](ProcessGroup& group) {
    if (group.rank() == 0) {
      at::Tensor tensor = at::empty({1});
      const auto work = group.recv(tensor, 1);
      EXPECT_THAT(textOf<CommError>([&] { work->wait(std::chrono::milliseconds(1)); }),
                  HasSubstr("timed out: not done after 1 ms of waiting, waiting for data from "
                            "rank 1"));
      gaveUp.set_value();
      work->wait();
      EXPECT_EQ(tensor.item<float>(), 5);
    } else {
      gaveUp.get_future().wait();
      group.send(filled(1, 5), 0)->wait();
    }
  });
}

}  // namespace
}  // namespace lockstep::process_group

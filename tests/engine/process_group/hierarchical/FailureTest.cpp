// How a hierarchical group fails.

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "engine/store/FileStore.h"
#include "tests/engine/process_group/AbortRounds.h"
#include "tests/engine/process_group/SlowNetwork.h"
#include "tests/engine/process_group/hierarchical/HostThreads.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// Arguments: store file, hosts. Rank r is on host (r * hosts / ranks).
int reduceUntilItFails(const std::vector<std::string>& arguments) {
  const int rank = std::atoi(std::getenv("RANK"));
  const int size = std::atoi(std::getenv("WORLD_SIZE"));
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = size;
  GroupOptions options = quickOptions(seconds(60));
  options.host = std::to_string(rank * std::atoi(arguments.at(1).c_str()) / size);
  auto made =
      makeProcessGroup("auto", std::make_shared<store::FileStore>(file), rank, size, options);
  if (!made.ok()) {
    std::printf("%s\n", made.error().message().c_str());
    return 3;
  }
  at::Tensor tensor = at::zeros({1000});
  made.value()->allreduce({tensor})->wait();
  std::printf("ready\n");
  std::fflush(stdout);
  for (;;) {
    try {
      made.value()->allreduce({tensor})->wait();
    } catch (const CommError& error) {
      std::printf("%s\n%d\n", error.what(), error.where().peer);
      return 4;
    }
  }
}

const support::RegisterChildRole reducing("reduce-over-hosts-until-it-fails", reduceUntilItFails);

class DeadRank : public testing::TestWithParam<std::pair<int, int>> {};
// Ranks and hosts: even, uneven.
INSTANTIATE_TEST_SUITE_P(Hosts, DeadRank, testing::Values(std::pair{4, 2}, std::pair{3, 2}),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "_over_" +
                                  std::to_string(info.param.second);
                         });

TEST_P(DeadRank, IsNamedByAllOthersOnEveryHost) {
  const auto [size, hosts] = GetParam();
  support::TemporaryFolder folder;
  auto ranks =
      support::spawnSelfAsRanks(size, "reduce-over-hosts-until-it-fails",
                                {(folder.path() / "store").string(), std::to_string(hosts)});
  for (auto& rank : ranks) {
    ASSERT_EQ(rank.readLine(), "ready") << rank.errors();
  }
  const auto begin = std::chrono::steady_clock::now();
  ranks[1].kill(SIGKILL);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank != 1) {
      EXPECT_THAT(ranks[rank].readLine(),
                  AllOf(HasSubstr("allreduce #"), HasSubstr("lost the connection to rank 1")));
      EXPECT_EQ(ranks[rank].readLine(), "1");
      EXPECT_EQ(ranks[rank].wait(), (support::ExitStatus{false, 4, 0})) << ranks[rank].errors();
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10));
}

TEST(HierarchicalFailure, TimeLimitNamesTheRankThatDidNotComeOnEveryHost) {
  runOnHosts({0, 0, 1, 1}, [](ProcessGroup& group) {
    at::Tensor tensor = filled(100, 1);
    group.barrier()->wait();
    if (group.rank() == 2) {
      while (group.state() == GroupState::kSuccess) {
        std::this_thread::sleep_for(milliseconds(5));
      }
      return;
    }
    group.setTimeout(milliseconds(500));
    const std::string text = textOf<CommError>([&] { group.allreduce({tensor})->wait(); });
    EXPECT_THAT(text, AllOf(HasSubstr("timed out after 500 ms"), HasSubstr("rank 2")));
  });
}

TEST(HierarchicalFailure, AbortWakesAllRanksAndLaterCallsSayWhy) {
  runOnHosts({0, 0, 1, 1}, [](ProcessGroup& group) {
    at::Tensor tensor = filled(100, 1);
    if (group.rank() == 0) {
      group.abort("enough");
      EXPECT_THAT(textOf<CommError>([&] { group.barrier()->wait(); }),
                  HasSubstr("the group is broken: aborted: enough"));
      EXPECT_EQ(group.state(), GroupState::kCommError);
    } else {
      EXPECT_THAT(textOf<CommError>([&] { group.allreduce({tensor})->wait(); }),
                  HasSubstr("rank 0 gave up: aborted: enough"));
      EXPECT_EQ(group.state(), GroupState::kRemoteError);
      EXPECT_THAT(textOf<CommError>([&] { group.barrier()->wait(); }),
                  HasSubstr("the group is broken: "));
    }
  });
}

class HierarchicalAbort : public testing::TestWithParam<std::vector<int>> {};
INSTANTIATE_TEST_SUITE_P(Hosts, HierarchicalAbort,
                         testing::Values(std::vector<int>{0, 0, 1, 1}, std::vector<int>{0, 0, 1},
                                         std::vector<int>{0, 1}),
                         [](const auto& info) { return hostsName(info.param); });

int ranksOnHosts() {
  return static_cast<int>(HierarchicalAbort::GetParam().size());
}

base::Result<std::shared_ptr<ProcessGroup>> makePart(std::shared_ptr<store::Store> store,
                                                     int rank) {
  GroupOptions options = quickOptions();
  const int host = HierarchicalAbort::GetParam()[static_cast<std::size_t>(rank)];
  options.host = "host " + std::to_string(host);
  return makeProcessGroup("hierarchical", std::move(store), rank, ranksOnHosts(), options);
}

TEST_P(HierarchicalAbort, UndoesNoStepThatARankHasTaken) {
  expectNoStepLost(ranksOnHosts(), makePart);
}

TEST_P(HierarchicalAbort, LetsStepsEndAsLongAsOneEndsAfterAnother) {
  expectNoStepLost(ranksOnHosts(), makePart, kAbortBeforeStepsThatTakeTheirTime);
}

TEST(HierarchicalFailure, AnAbortSparesACollectiveForAsLongAsItsBytesMove) {
  expectSparedWhileBytesMove([](const auto& body) { runOnHosts({0, 1}, body); });
}

TEST(HierarchicalFailure, DifferentCallsOfOneHostAreNamed) {
  runOnHosts({0, 0, 1, 1}, [](ProcessGroup& group) {
    at::Tensor tensor = filled(group.rank() == 3 ? 10 : 100, 1);
    EXPECT_THAT(textOf<CommError>([&] { group.allreduce({tensor})->wait(); }),
                AnyOf(HasSubstr("rank 3"), HasSubstr("ranks 2, 3")));
  });
}

TEST(HierarchicalFailure, MessageThatDoesNotFitFailsAlone) {
  runOnHosts({0, 0, 1}, [](ProcessGroup& group) {
    if (group.rank() == 0) {
      EXPECT_THROW(group.send(filled(3, 1), 2)->wait(), CommError);
    } else if (group.rank() == 2) {
      EXPECT_THROW(group.recv(filled(4, 1), 0)->wait(), CommError);
    }
    at::Tensor tensor = filled(5, 1);
    group.allreduce({tensor})->wait();
    EXPECT_TRUE(at::equal(tensor, filled(5, 3)));
  });
}

TEST(HierarchicalFailure, AbortOfOneMessageFreesItsWaiterAndNoMore) {
  runOnHosts({0, 0, 1}, [](ProcessGroup& group) {
    at::Tensor tensor = filled(5, group.rank() == 2 ? 7 : 1);
    ProcessGroup::WorkPtr work;
    if (group.rank() == 0) {
      work = group.recv(tensor, 2);
      work->abort();
      EXPECT_THAT(textOf<CommError>([&] { work->wait(); }), HasSubstr("aborted by its caller"));
    }
    group.barrier()->wait();
    if (group.rank() == 2) {
      group.send(tensor, 0)->wait();
    } else if (group.rank() == 0) {
      work->wait();
      EXPECT_TRUE(at::equal(tensor, filled(5, 7)));
    }
    EXPECT_EQ(group.state(), GroupState::kSuccess);
  });
}

TEST(HierarchicalFailure, RefusesWrongArgumentsAtTheCall) {
  runOnHosts({0, 1}, [](ProcessGroup& group) {
    EXPECT_THAT(textOf<std::invalid_argument>([&] { group.broadcast({filled(1, 0)}, 5); }),
                HasSubstr("ProcessGroupHierarchical::broadcast: root is 5"));
  });
}

}  // namespace
}  // namespace lockstep::process_group

// Ranks as processes, of which one is killed or stopped.

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "engine/store/FileStore.h"
#include "tests/engine/process_group/Backends.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

int number(const char* variable) { return std::atoi(std::getenv(variable)); }

// Arguments: store file, time limit in ms, bytes, what to call, backend. Prints "ready", then calls
// until an error comes, prints its text and how long the failing call took, and ends with code 4.
int callUntilItFails(const std::vector<std::string>& arguments) {
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = number("WORLD_SIZE");
  auto made = makeProcessGroup(arguments.at(4), std::make_shared<store::FileStore>(file), number("RANK"),
                               number("WORLD_SIZE"),
                               quickOptions(milliseconds(std::atoi(arguments.at(1).c_str()))));
  if (!made.ok()) {
    std::printf("%s\n", made.error().message().c_str());
    return 3;
  }
  ProcessGroup& group = *made.value();
  at::Tensor tensor = at::zeros({std::atoll(arguments.at(2).c_str()) / 4});
  CallOptions options;
  options.bucket = 3;
  group.allreduce({tensor})->wait();
  std::printf("ready\n");
  std::fflush(stdout);
  const bool messages = arguments.at(3) == "recv";
  for (;;) {
    const auto begin = steady_clock::now();
    try {
      if (!messages) {
        group.allreduce({tensor}, ReduceOp::kSum, options)->wait();
      } else if (group.rank() == 0) {
        group.recv(tensor, 1, 0, options)->wait();
      } else {
        for (;;) {
          pause();
        }
      }
    } catch (const CommError& error) {
      const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
      std::printf("%s\n%d\n%lld\n", error.what(), error.where().peer,
                  static_cast<long long>(took.count()));
      return 4;
    }
  }
}

const support::RegisterChildRole calling("call-until-it-fails", callUntilItFails);

struct Report {
  std::string text;
  int peer = -1;
  milliseconds took{};
};

Report report(support::ChildProcess& rank) {
  Report result;
  result.text = rank.readLine();
  result.peer = std::atoi(rank.readLine().c_str());
  result.took = milliseconds(std::atoll(rank.readLine().c_str()));
  EXPECT_EQ(rank.wait(), (support::ExitStatus{false, 4, 0})) << rank.errors();
  return result;
}

class DeadPeer : public BackendTest {
 protected:
  std::vector<support::ChildProcess> start(int size, milliseconds timeout, std::int64_t bytes,
                                           const std::string& what) {
    auto ranks = support::spawnSelfAsRanks(
        size, "call-until-it-fails",
        {(folder_.path() / "store").string(), std::to_string(timeout.count()),
         std::to_string(bytes), what, backend()});
    for (auto& rank : ranks) {
      EXPECT_EQ(rank.readLine(), "ready") << rank.errors();
    }
    return ranks;
  }

 private:
  support::TemporaryFolder folder_;
};

LOCKSTEP_OVER_BACKENDS(DeadPeer);

TEST_P(DeadPeer, KilledRankIsNamedAtOnceWithTheBucketAndItsAddress) {
  auto ranks = start(2, seconds(60), 4096, "allreduce");
  ranks[1].kill(SIGKILL);
  const Report seen = report(ranks[0]);
  EXPECT_THAT(seen.text, AllOf(HasSubstr("allreduce #"), HasSubstr("rank 0, bucket 3"),
                               HasSubstr("lost the connection to rank 1"),
                               HasSubstr(backend() == "gloo" ? "[127.0.0.1]:" : ""),
                               HasSubstr("its process has probably ended")));
  EXPECT_EQ(seen.peer, 1);
  EXPECT_LT(seen.took, seconds(5));
}

TEST_P(DeadPeer, KilledRankIsNamedByAllOthers) {
  auto ranks = start(4, seconds(60), 4096, "allreduce");
  ranks[2].kill(SIGKILL);
  for (const std::size_t rank : {0, 1, 3}) {
    const Report seen = report(ranks[rank]);
    EXPECT_THAT(seen.text, HasSubstr("lost the connection to rank 2"));
    EXPECT_LT(seen.took, seconds(5));
  }
}

// Gloo wakes nobody whose message was half transferred when the peer died.
TEST_P(DeadPeer, RankKilledInTheMiddleOfALargeTransferIsNoticed) {
  auto ranks = start(2, seconds(60), 200'000'000, "allreduce");
  ranks[1].kill(SIGKILL);
  const Report seen = report(ranks[0]);
  EXPECT_THAT(seen.text, HasSubstr("lost the connection to rank 1"));
  EXPECT_LT(seen.took, seconds(10));
}

TEST_P(DeadPeer, KilledRankIsNoticedByAReceiveWithNothingOnItsWay) {
  auto ranks = start(2, seconds(60), 4096, "recv");
  ranks[1].kill(SIGKILL);
  const Report seen = report(ranks[0]);
  EXPECT_THAT(seen.text, AllOf(HasSubstr("recv #1 of group default, rank 0, bucket 3"),
                               HasSubstr("lost the connection to rank 1")));
  EXPECT_EQ(seen.peer, 1);
  EXPECT_LT(seen.took, seconds(5));
}

TEST_P(DeadPeer, StoppedRankIsNamedWhenTheTimePasses) {
  auto ranks = start(2, seconds(2), 4096, "allreduce");
  ranks[1].kill(SIGSTOP);
  const Report seen = report(ranks[0]);
  EXPECT_THAT(seen.text, AllOf(HasSubstr("timed out after 2000 ms"), HasSubstr("rank 1"),
                               HasSubstr("bucket 3")));
  EXPECT_LT(seen.took, seconds(8));
  ranks[1].kill(SIGKILL);
}

TEST_P(DeadPeer, RankThatWasStoppedSaysThatTheOthersGaveUpOnIt) {
  auto ranks = start(3, seconds(2), 4096, "allreduce");
  ranks[1].kill(SIGSTOP);
  for (const std::size_t rank : {0, 2}) {
    const Report seen = report(ranks[rank]);
    EXPECT_EQ(seen.peer, 1) << seen.text;
    if (backend() != "gloo") {
      EXPECT_THAT(seen.text, HasSubstr("waiting for rank 1, which "));
      continue;
    }
    EXPECT_THAT(seen.text, AnyOf(HasSubstr("waiting for data from rank 1"),
                                 HasSubstr("which waits for rank 1")));
    // Perhaps one call ahead of the other; that is none to be missed.
    EXPECT_THAT(seen.text, HasSubstr("; rank 1 has not reported being in this operation"));
  }
  ranks[1].kill(SIGCONT);
  const Report thawed = report(ranks[1]);
  EXPECT_THAT(thawed.text, HasSubstr(" waited for this rank)"));
  EXPECT_THAT(thawed.text, AnyOf(HasSubstr("ranks 0, 2 gave up: "), HasSubstr("rank 0 gave up: "),
                                 HasSubstr("rank 2 gave up: ")));
}

}  // namespace
}  // namespace lockstep::process_group

#include "engine/store/StoreBarrier.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>

#include "engine/store/FileStore.h"
#include "engine/store/HashStore.h"
#include "engine/store/TCPStore.h"
#include "tests/engine/store/StoreFixtures.h"
#include "tests/support/RankThreads.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

TEST(StoreBarrier, LetsNobodyPassBeforeTheLastRankHasCome) {
  HashStore store(30s);
  std::atomic<int> come = 0;
  support::runRanks(4, [&](int rank) {
    ++come;
    storeBarrier(store, rank, 4, 30s, "start");
    EXPECT_EQ(come, 4);
  });
}

TEST(StoreBarrier, NamesTheRanksThatDidNotCome) {
  HashStore store(30s);
  support::runRanks(2, [&](int thread) {
    const int rank = thread == 0 ? 1 : 3;
    EXPECT_THAT(failureOf([&] { storeBarrier(store, rank, 5, 50ms, "default group"); }),
                AllOf(HasSubstr("Timed out initializing process group in store based barrier"),
                      HasSubstr("\"default group\""), HasSubstr("timeout after 50 ms"),
                      HasSubstr("on rank " + std::to_string(rank)),
                      HasSubstr("ranks 0, 2, 4 of 5 did not come")));
  });
}

TEST(StoreBarrier, NamesTheOneRankThatDidNotCome) {
  support::TemporaryFolder folder;
  FileStore store({(folder / "store").string(), 1, "", 30s});
  EXPECT_THAT(failureOf([&] { storeBarrier(store, 0, 2, 50ms, "x"); }),
              HasSubstr(": rank 1 of 2 did not come"));
}

TEST(StoreBarrier, KeepsBarriersOfDifferentNamesApart) {
  HashStore store(30s);
  support::runRanks(3, [&](int rank) {
    for (const std::string name : {"first", "second", "third"}) {
      storeBarrier(store, rank, 3, 30s, name);
    }
  });
}

TEST(StoreBarrier, SaysWhoHasEnteredUnderTheSameRank) {
  HashStore store(30s);
  storeBarrier(store, 0, 1, 30s, "x");
  EXPECT_THAT(failureOf([&] { storeBarrier(store, 0, 1, 30s, "x"); }),
              AllOf(HasSubstr("rank 0 has been here before"),
                    HasSubstr("pid " + std::to_string(getpid())), HasSubstr("a name of its own")));
}

TEST(StoreBarrier, RefusesARankOutsideTheWorld) {
  HashStore store;
  EXPECT_THAT(failureOf([&] { storeBarrier(store, 2, 2, 30s, "x"); }),
              HasSubstr("no rank 2 in a world of 2"));
}

TEST(StoreBarrier, EndsWithTheServerRatherThanAtItsTimeLimit) {
  auto server = std::make_unique<TCPStore>("127.0.0.1", serverOptions());
  TCPStore client("127.0.0.1", clientOptions(server->port()));
  support::runRanks(2, [&](int thread) {
    if (thread == 0) {
      EXPECT_THAT(failureOf([&] { storeBarrier(client, 0, 2, 300s, "x"); }),
                  HasSubstr("has ended"));
    } else {
      server->wait({"barrier/x/rank/0"});
      server.reset();
    }
  });
}

}  // namespace
}  // namespace lockstep::store

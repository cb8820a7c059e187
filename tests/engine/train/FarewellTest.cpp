#include "engine/train/Farewell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/store/HashStore.h"
#include "engine/store/TCPStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::train {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LeaveTogether, LetsNobodyGoBeforeAllHaveCome) {
  store::HashStore store;
  std::atomic<int> come{0};
  support::runRanks(4, [&](int rank) {
    std::this_thread::sleep_for(milliseconds(rank * 5));
    ++come;
    const auto left = leaveTogether(store, rank, 4, rank == 0, seconds(20));
    ASSERT_TRUE(left.ok()) << left.error().message();
    EXPECT_EQ(come.load(), 4);
  });
}

TEST(LeaveTogether, NamesTheRanksThatDoNotCome) {
  store::HashStore store;
  const auto left = leaveTogether(store, 1, 4, false, milliseconds(50));
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().code, base::ExitCode::kTimeout);
  EXPECT_THAT(left.error().what, testing::StartsWith("ranks 0, 2, 3 did not reach the end"));
}

TEST(LeaveTogether, KeepsTheStoresHostUntilTheOthersHaveReadTheResult) {
  for (int round = 0; round < 20; ++round) {
    store::TCPStoreOptions server;
    server.port = 0;
    server.isServer = true;
    auto host = std::make_unique<store::TCPStore>("127.0.0.1", server);
    const auto port = host->port();
    support::runRanks(3, [&](int rank) {
      if (rank == 0) {
        ASSERT_TRUE(leaveTogether(*host, 0, 3, true, seconds(20)).ok());
        host.reset();
        return;
      }
      store::TCPStoreOptions client;
      client.port = port;
      store::TCPStore store("127.0.0.1", client);
      EXPECT_TRUE(leaveTogether(store, rank, 3, false, seconds(20)).ok());
    });
  }
}

TEST(LeaveTogether, DoesNotHoldTheHostForARankThatDiedAfterTheEnd) {
  store::HashStore store;
  store.set("lockstep/done/1", "1");
  EXPECT_TRUE(leaveTogether(store, 0, 2, true, seconds(20), milliseconds(20)).ok());
}

}  // namespace
}  // namespace lockstep::train

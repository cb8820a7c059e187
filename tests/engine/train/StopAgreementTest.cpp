#include "engine/train/StopAgreement.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::train {
namespace {

using std::chrono::milliseconds;

/// Lets `world` ranks run steps that end together, as an allreduce makes them; `rank` is asked to
/// stop before step `atStep`. Returns how many steps each rank did.
std::vector<std::int64_t> runSteps(int world, const std::vector<int>& asked, std::int64_t atStep,
                                   std::int64_t last, milliseconds pollEvery) {
  store::HashStore store;
  std::vector<std::int64_t> done(static_cast<std::size_t>(world));
  std::barrier allreduce(world);
  support::runRanks(world, [&](int rank) {
    std::atomic<bool> requested{false};
    StopAgreement stop(store, rank, world, requested, pollEvery);
    std::int64_t step = 0;
    bool stopped = false;
    while (step < last && !stopped) {
      if (step == atStep && std::find(asked.begin(), asked.end(), rank) != asked.end()) {
        requested = true;
      }
      // Ranks enter the reduction at different times.
      std::this_thread::sleep_for(std::chrono::microseconds((rank * 37 + step * 11) % 100));
      allreduce.arrive_and_wait();
      ++step;
      stopped = stop.shouldStop(step);
    }
    done[static_cast<std::size_t>(rank)] = step;
  });
  return done;
}

TEST(StopAgreement, StopsAllRanksAtOneStepWhenAllAreAsked) {
  for (int world : {1, 2, 3, 5}) {
    std::vector<int> asked;
    for (int rank = 0; rank < world; ++rank) asked.push_back(rank);
    const auto done = runSteps(world, asked, 10, 1000, std::chrono::hours(1));
    for (const auto steps : done) {
      EXPECT_EQ(steps, 12) << world << " ranks: all posted 11";
    }
  }
}

TEST(StopAgreement, StopsAllRanksAtOneStepWhenOnlyOneIsAsked) {
  for (int asked : {0, 2}) {
    const auto done = runSteps(3, {asked}, 5, 100000, milliseconds(0));
    EXPECT_EQ(done[0], done[1]);
    EXPECT_EQ(done[0], done[2]);
    EXPECT_GE(done[0], 6);
    EXPECT_LT(done[0], 100);
  }
}

TEST(StopAgreement, AgreesWithoutTheRankThatIsOutOfInputsAndPassesItsRequestOn) {
  constexpr int kWorld = 3;
  constexpr std::int64_t kInputsOfRankTwo = 7;
  store::HashStore store;
  std::vector<std::int64_t> done(kWorld);
  // As in a Join: each iteration sums a one of every rank that has inputs.
  std::atomic<int> sum{0};
  std::atomic<int> live{0};
  std::barrier allreduce(kWorld, [&]() noexcept { live = sum.exchange(0); });
  support::runRanks(kWorld, [&](int rank) {
    std::atomic<bool> requested{false};
    StopAgreement stop(store, rank, kWorld, requested, milliseconds(0));
    const std::int64_t own = rank == 2 ? kInputsOfRankTwo : 100000;
    std::int64_t step = 0;
    for (bool stopped = false; step < own && !stopped; stopped = stop.shouldStop(step)) {
      ++sum;
      allreduce.arrive_and_wait();
      ++step;
    }
    if (rank == 2) {
      stop.leave(step);
      requested = true;
    }
    for (allreduce.arrive_and_wait(); live > 0; allreduce.arrive_and_wait()) {
      stop.passOn();
    }
    done[static_cast<std::size_t>(rank)] = step;
  });
  EXPECT_EQ(done[0], done[1]);
  EXPECT_EQ(done[2], kInputsOfRankTwo);
  EXPECT_GT(done[0], kInputsOfRankTwo);
  EXPECT_LT(done[0], 1000);
}

TEST(StopAgreement, NeverStopsWhenNobodyIsAsked) {
  const auto done = runSteps(2, {}, 0, 200, milliseconds(0));
  EXPECT_EQ(done, (std::vector<std::int64_t>{200, 200}));
}

TEST(StopAgreement, LeavesTheStoreAloneBetweenPolls) {
  store::HashStore store;
  std::atomic<bool> requested{false};
  StopAgreement stop(store, 0, 2, requested, std::chrono::hours(1));
  store.set("lockstep/stop/requested", "1");
  EXPECT_FALSE(stop.shouldStop(1));
  EXPECT_FALSE(store.check({"lockstep/stop/0"})) << "it looked into the store";
}

}  // namespace
}  // namespace lockstep::train

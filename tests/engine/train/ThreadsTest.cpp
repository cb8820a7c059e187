#include "engine/train/Threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace lockstep::train {
namespace {

std::vector<int> allowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

TEST(PinToCores, GivesEachRankItsOwnCoresAndStartsOverWhenTheyRunOut) {
  const auto all = allowedCores();
  const int count = static_cast<int>(all.size());
  for (int rank : {0, 1, count}) {
    // On a thread of its own, so that the rest of the tests keeps all cores.
    std::thread([&] {
      const auto mine = pinToCores(rank, 1);
      ASSERT_TRUE(mine.ok()) << mine.error().message();
      EXPECT_THAT(mine.value(), testing::ElementsAre(all[static_cast<std::size_t>(rank % count)]));
      EXPECT_EQ(allowedCores(), mine.value());
      std::thread([&] {
        EXPECT_EQ(allowedCores(), mine.value()) << "a new thread is elsewhere";
      }).join();
    }).join();
  }
}

TEST(PinToCores, TakesAllCoresWhenMoreThreadsAreAskedForThanThereAre) {
  std::thread([] {
    const auto all = allowedCores();
    EXPECT_EQ(pinToCores(0, 10000).value(), all);
  }).join();
}

}  // namespace
}  // namespace lockstep::train

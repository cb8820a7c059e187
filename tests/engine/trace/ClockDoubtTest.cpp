#include "engine/trace/ClockDoubt.h"

#include <gtest/gtest.h>

namespace lockstep::trace {
namespace {

RunUpdate ranksOnHosts(const std::vector<int>& hostOf) {
  RunUpdate update;
  update.ranks.emplace();
  for (std::size_t rank = 0; rank < hostOf.size(); ++rank) {
    update.ranks->push_back({});
    update.ranks->back().rank = static_cast<int>(rank);
    update.ranks->back().host = hostOf[rank];
  }
  update.hosts = std::vector<HostState>{{{0, "a", "", "tsc"}, ClockOffset{}},
                                        {{1, "b", "", "tsc"}, ClockOffset{10, 3'000}},
                                        {{2, "c", "", "tsc"}, ClockOffset{20, 5'000}}};
  return update;
}

TEST(ClockDoubt, IsBetweenNoTwoRanksMoreThanItsMost) {
  ClockDoubt doubt;
  doubt.take(ranksOnHosts({0, 1, 2, 2}));
  EXPECT_EQ(doubt.betweenNs(1, 2), 8'000);
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      EXPECT_LE(doubt.betweenNs(a, b), doubt.mostNs());
    }
  }
}

TEST(ClockDoubt, IsNoneOnOneHost) {
  ClockDoubt doubt;
  doubt.take(ranksOnHosts({0, 0}));
  EXPECT_TRUE(doubt.none());
  EXPECT_EQ(doubt.mostNs(), 0);
}

}  // namespace
}  // namespace lockstep::trace

#include "plugins/gossip/Partners.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::plugin {
namespace {

using Topology = Partners::Topology;

TEST(Partners, SendToOneAndHearFromOneWhoSendsToThem) {
  for (const Topology topology : {Topology::kDissemination, Topology::kCube}) {
    const Partners partners(8, topology, true, 7);
    for (std::uint64_t step = 0; step < 30; ++step) {
      for (int node = 0; node < 8; ++node) {
        const auto pair = partners.of(node, step);
        EXPECT_NE(pair.to, node);
        EXPECT_EQ(partners.of(pair.to, step).from, node);
        if (topology == Topology::kCube) {
          EXPECT_EQ(pair.to, pair.from);
        }
      }
    }
  }
}

TEST(Partners, StandInTheOrderOfTheirNumbersUnlessTheyRotate) {
  const Partners partners(6, Topology::kDissemination, false, 7);
  for (std::uint64_t round = 0; round < 3; ++round) {
    EXPECT_EQ(partners.of(5, 3 * round).to, 0);
    EXPECT_EQ(partners.of(5, 3 * round + 1).to, 1);
    EXPECT_EQ(partners.of(5, 3 * round + 2).to, 3);
    EXPECT_EQ(partners.of(1, 3 * round + 2).from, 3);
  }
}

TEST(Partners, ChangeFromRoundToRoundWhenTheyRotate) {
  const Partners partners(8, Topology::kDissemination, true, 7);
  std::set<int> first;
  for (std::uint64_t round = 0; round < 8; ++round) {
    first.insert(partners.of(0, 3 * round).to);
  }
  EXPECT_GT(first.size(), 2U);
}

TEST(Partners, CarryTheNewsOfEachNodeToAllWithinARound) {
  for (const int count : {2, 3, 5, 8}) {
    const Partners partners(count, Topology::kDissemination, true, 7);
    std::vector<std::set<int>> heard(static_cast<std::size_t>(count));
    for (int node = 0; node < count; ++node) {
      heard[static_cast<std::size_t>(node)] = {node};
    }
    for (std::uint64_t step = 0; (1 << step) < count; ++step) {
      const auto before = heard;
      for (int node = 0; node < count; ++node) {
        const auto& news = before[static_cast<std::size_t>(partners.of(node, step).from)];
        heard[static_cast<std::size_t>(node)].insert(news.begin(), news.end());
      }
    }
    for (const auto& all : heard) {
      EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
    }
  }
}

}  // namespace
}  // namespace lockstep::plugin

// Which ranks share a host, and what "auto" makes of it.

#include "engine/process_group/hierarchical/HostMap.h"

#include <gmock/gmock.h>

#include "engine/process_group/hierarchical/AutomaticBackend.h"
#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::process_group::hierarchical {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<HostCard> cards(const std::vector<std::string>& hosts) {
  std::vector<HostCard> all;
  for (const std::string& host : hosts) {
    all.push_back({host, ""});
  }
  return all;
}

TEST(HostMap, NumbersHostsByTheirFirstRanksAndPlacesByRank) {
  const HostMap map(cards({"b", "a", "b", "a", "b"}));
  EXPECT_EQ(map.ranks(), 5);
  EXPECT_EQ(map.count(), 2);
  EXPECT_FALSE(map.even());
  EXPECT_THAT(map.members(0), ElementsAre(0, 2, 4));
  EXPECT_THAT(map.members(1), ElementsAre(1, 3));
  EXPECT_EQ(map.hostOf(3), 1);
  EXPECT_EQ(map.placeOf(4), 2);
  EXPECT_THAT(map.atPlace(1), ElementsAre(2, 3));
}

TEST(HostMap, IsEvenWhenAllHostsHaveAsManyRanks) {
  EXPECT_TRUE(HostMap(cards({"a", "b", "b", "a"})).even());
  EXPECT_TRUE(HostMap(cards({"a"})).even());
  EXPECT_FALSE(HostMap(cards({"a", "b", "b"})).even());
}

TEST(Choose, TakesWhatTheHostsAllow) {
  EXPECT_EQ(choose(cards({"a"})).backend, "shared_memory");
  EXPECT_EQ(choose(cards({"a", "a"})).backend, "shared_memory");
  EXPECT_EQ(choose(cards({"a", "b"})).backend, "gloo");
  EXPECT_EQ(choose(cards({"a", "b", "a"})).backend, "hierarchical");
}

TEST(Choose, TakesGlooAndSaysWhyWhenARankCannotShareMemory) {
  auto all = cards({"a", "a", "b"});
  all[1].whyNot = "no room";
  const Choice choice = choose(all);
  EXPECT_EQ(choice.backend, "gloo");
  EXPECT_EQ(choice.why, "rank 1 cannot share memory: no room");
}

TEST(ExchangeCards, NamesTheRanksThatDidNotCome) {
  store::HashStore store;
  GroupOptions options;
  options.timeout = std::chrono::milliseconds(50);
  const auto got = exchangeCards(store, 1, 3, options, {"a", ""});
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.error().message(), HasSubstr("waiting for ranks 0, 2 to join"));
}

TEST(ExchangeCards, GivesAllRanksAllCards) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(3, [&](int rank) {
    GroupOptions options;
    options.timeout = std::chrono::seconds(20);
    const auto got = exchangeCards(*store, rank, 3, options,
                                   {"host " + std::to_string(rank / 2), rank == 1 ? "why" : ""});
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got.value()[2].host, "host 1");
    EXPECT_EQ(got.value()[1].whyNot, "why");
    EXPECT_EQ(got.value()[0].whyNot, "");
  });
}

}  // namespace
}  // namespace lockstep::process_group::hierarchical

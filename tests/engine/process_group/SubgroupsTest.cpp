#include "engine/process_group/Subgroups.h"

#include <gmock/gmock.h>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void runWorld(int size, const std::function<void(Subgroups&, int)>& body) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(size, [&](int rank) {
    auto world = makeProcessGroup("gloo", store, rank, size, quickOptions());
    ASSERT_TRUE(world.ok()) << world.error().message();
    Subgroups groups(world.value(), "gloo", store, quickOptions());
    body(groups, rank);
    world.value()->barrier()->wait();
  });
}

TEST(Subgroups, ReduceAmongTheirMembersOnly) {
  runWorld(4, [](Subgroups& groups, int rank) {
    const auto even = groups.newGroup({0, 2});
    const auto odd = groups.newGroup({1, 3});
    ASSERT_TRUE(even.ok()) << even.error().message();
    ASSERT_TRUE(odd.ok()) << odd.error().message();
    const auto& mine = rank % 2 == 0 ? even.value() : odd.value();
    EXPECT_EQ(mine->size(), 2);
    EXPECT_EQ(mine->rank(), rank / 2);
    EXPECT_EQ(mine->groupName(), rank % 2 == 0 ? "default.1" : "default.2");
    at::Tensor tensor = filled(3, rank);
    mine->allreduce({tensor})->wait();
    EXPECT_EQ(tensor[0].item<float>(), rank % 2 == 0 ? 2 : 4);
  });
}

TEST(Subgroups, OutsidersGetAnErrorWhenTheyUseOne) {
  runWorld(3, [](Subgroups& groups, int rank) {
    const auto made = groups.newGroup({0, 2});
    ASSERT_TRUE(made.ok()) << made.error().message();
    ProcessGroup& group = *made.value();
    if (rank != 1) {
      group.barrier()->wait();
      return;
    }
    EXPECT_EQ(group.rank(), -1);
    EXPECT_EQ(group.size(), 2);
    const std::string text = "rank 1 is not part of group default.1 (ranks 0, 2)";
    EXPECT_EQ(textOf<std::invalid_argument>([&] { group.barrier(); }), text);
    EXPECT_EQ(textOf<std::invalid_argument>([&] { group.allreduce({filled(1, 1)}); }), text);
    EXPECT_EQ(textOf<std::invalid_argument>([&] { group.send(filled(1, 1), 0); }), text);
  });
}

TEST(Subgroups, TranslateRanksBothWays) {
  runWorld(3, [](Subgroups& groups, int) {
    const auto made = groups.newGroup({1, 2});
    ASSERT_TRUE(made.ok()) << made.error().message();
    const ProcessGroup& group = *made.value();
    EXPECT_THAT(groups.members(group), ElementsAre(1, 2));
    EXPECT_THAT(groups.members(*groups.world()), ElementsAre(0, 1, 2));
    EXPECT_EQ(groups.globalRank(group, 1), 2);
    EXPECT_EQ(groups.groupRank(group, 1), 0);
    const auto refusal = [](auto function) { return textOf<std::invalid_argument>(function); };
    EXPECT_EQ(refusal([&] { static_cast<void>(groups.groupRank(group, 0)); }),
              "rank 0 is not part of group default.1 (ranks 1, 2)");
    EXPECT_THAT(refusal([&] { static_cast<void>(groups.globalRank(group, 2)); }),
                HasSubstr("group rank 2 is not part of group default.1"));
    Subgroups others(groups.world(), "gloo", std::make_shared<store::HashStore>(), {});
    EXPECT_EQ(refusal([&] { static_cast<void>(others.members(group)); }),
              "group default.1 is not registered");
    if (group.rank() >= 0) {
      made.value()->barrier()->wait();  // a member that leaves would fail one that still connects
    }
  });
}

TEST(Subgroups, NameListsThatDifferBetweenRanks) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    auto world = makeProcessGroup("gloo", store, rank, 2, quickOptions());
    ASSERT_TRUE(world.ok()) << world.error().message();
    Subgroups groups(world.value(), "gloo", store, quickOptions());
    if (rank == 1) {
      world.value()->barrier()->wait();
    }
    const auto made = groups.newGroup({rank});
    if (rank == 0) {
      EXPECT_TRUE(made.ok());
      world.value()->barrier()->wait();
    } else {
      ASSERT_FALSE(made.ok());
      EXPECT_EQ(made.error().message(),
                "group default.1 has ranks 1 on rank 1 and ranks 0 on rank 0; all ranks must make "
                "the same groups in the same order");
    }
  });
}

TEST(Subgroups, RefuseRanksThatCannotBe) {
  runWorld(2, [](Subgroups& groups, int) {
    EXPECT_EQ(groups.newGroup({}).error().message(), "a subgroup without ranks");
    EXPECT_EQ(groups.newGroup({0, 2}).error().message(),
              "a subgroup with rank 2; ranks of the world are 0 to 1");
    EXPECT_THAT(groups.newGroup({1, 0}).error().message(),
                HasSubstr("the ranks of a subgroup, 1, 0, are not in ascending order"));
  });
}

}  // namespace
}  // namespace lockstep::process_group

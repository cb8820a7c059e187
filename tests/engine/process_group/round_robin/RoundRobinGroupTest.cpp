#include "engine/process_group/round_robin/RoundRobinGroup.h"

#include <gmock/gmock.h>

#include <latch>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

GroupOptions turns(int groups) {
  GroupOptions options = quickOptions();
  options.roundRobin = groups;
  return options;
}

TEST(RoundRobin, GivesEachCollectiveToTheNextGroup) {
  runGroup(2, [](ProcessGroup& group) {
    auto& robin = dynamic_cast<RoundRobinGroup&>(group);
    EXPECT_EQ(robin.groupName(), "default");
    EXPECT_EQ(robin.backendName(), "round_robin(3 x gloo)");
    ASSERT_EQ(robin.groups().size(), 3u);
    std::vector<at::Tensor> tensors;
    std::vector<ProcessGroup::WorkPtr> works;
    for (int i = 0; i < 50; ++i) {
      tensors.push_back(filled(10 + i, group.rank() + i));
      works.push_back(group.allreduce({tensors.back()}));
    }
    for (int i = 0; i < 50; ++i) {
      works[static_cast<std::size_t>(i)]->wait();
      EXPECT_TRUE(at::equal(tensors[static_cast<std::size_t>(i)], filled(10 + i, 2 * i + 1)));
    }
    EXPECT_EQ(robin.sequenceNumber(), 50u);
    EXPECT_EQ(robin.groups()[0]->sequenceNumber(), 17u);
    EXPECT_EQ(robin.groups()[2]->sequenceNumber(), 16u);
  }, turns(3));
}

TEST(RoundRobin, BarrierCoversAllGroupsAndMessagesKeepToTheFirst) {
  runGroup(2, [](ProcessGroup& group) {
    auto& robin = dynamic_cast<RoundRobinGroup&>(group);
    group.barrier()->wait();
    for (const auto& one : robin.groups()) {
      EXPECT_EQ(one->sequenceNumber(), 1u);
    }
    at::Tensor got = filled(1, 0);
    const auto received = group.recv(got, 1 - group.rank());
    group.send(filled(1, group.rank()), 1 - group.rank())->wait();
    received->wait();
    EXPECT_EQ(got.item<float>(), 1 - group.rank());
  }, turns(2));
}

TEST(RoundRobin, OneBrokenGroupEndsTheOthers) {
  std::latch met(2);
  runGroup(2, [&](ProcessGroup& group) {
    auto& robin = dynamic_cast<RoundRobinGroup&>(group);
    group.allreduce({filled(1, 1)})->wait();
    met.arrive_and_wait();  // an abort would end a rank that is still in it
    if (group.rank() == 0) {
      robin.groups()[0]->abort("a fault");  // the next call is the other's
      EXPECT_THAT(textOf<CommError>([&] { group.allreduce({filled(1, 1)})->wait(); }),
                  HasSubstr("another of the groups behind this one is broken"));
      EXPECT_EQ(group.state(), GroupState::kCommError);
    } else {
      EXPECT_THROW(group.allreduce({filled(1, 1)})->wait(), CommError);
      EXPECT_NE(group.state(), GroupState::kSuccess);
    }
  }, turns(2));
}

TEST(RoundRobin, MayBeCalledFromACallbackOfWhatItEnds) {
  GroupOptions options = turns(2);
  options.threads = 1;
  runGroup(2, [](ProcessGroup& group) {
    if (group.rank() == 1) {
      return;  // so that nothing of rank 0 ends by itself
    }
    auto& robin = dynamic_cast<RoundRobinGroup&>(group);
    std::vector<ProcessGroup::WorkPtr> works;
    for (int i = 0; i < 6; ++i) {
      works.push_back(group.allreduce({filled(1, i)}));
    }
    base::Future<bool> failed;
    works.back()->future().whenComplete([&](const auto&) {
      group.allreduce({filled(1, 7)})->future().whenComplete(
          [&](const auto& done) { failed.setValue(done.failed()); });
    });
    robin.groups()[0]->abort("a fault");
    EXPECT_THROW(group.allreduce({filled(1, 8)})->wait(), CommError);
    ASSERT_TRUE(failed.waitFor(std::chrono::seconds(10)));
    EXPECT_TRUE(failed.value());
  }, options);
}

TEST(RoundRobin, RefusesGroupsOfOtherRanks) {
  EXPECT_THAT(textOf<std::invalid_argument>([] { RoundRobinGroup("none", {}); }),
              HasSubstr("there are no groups"));
  const auto store = std::make_shared<store::HashStore>();
  GroupOptions options = quickOptions();
  options.groupName = "alone";
  auto one = makeProcessGroup("gloo", store, 0, 1, options);
  ASSERT_TRUE(one.ok());
  runGroup(2, [&](ProcessGroup& group) {
    // A second owner for the length of the test only.
    const std::shared_ptr<ProcessGroup> two(&group, [](ProcessGroup*) {});
    EXPECT_THAT(textOf<std::invalid_argument>([&] { RoundRobinGroup("mixed", {two, one.value()}); }),
                HasSubstr("groups[1] is rank 0 of 1 and groups[0] is rank " +
                          std::to_string(group.rank()) + " of 2"));
  });
}

}  // namespace
}  // namespace lockstep::process_group

#include "engine/process_group/DeviceGroup.h"

#include <gmock/gmock.h>

#include <set>

#include "engine/trace/Event.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/support/RankRecording.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

std::shared_ptr<ProcessGroup> glooGroup(const std::shared_ptr<store::Store>& store, int rank,
                                        int size, const std::string& name) {
  GroupOptions options = quickOptions();
  options.groupName = name;
  auto made = makeProcessGroup("gloo", store, rank, size, options);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return std::move(made).value();
}

TEST(DeviceGroup, SendsEachCallToTheBackendOfItsDevice) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    const auto cpu = glooGroup(store, rank, 2, "cpu");
    const auto other = glooGroup(store, rank, 2, "meta");
    DeviceGroup group("both", {{c10::DeviceType::CPU, cpu}, {c10::DeviceType::Meta, other}});
    EXPECT_EQ(group.backendName(), "cpu:gloo,meta:gloo");
    at::Tensor tensor = filled(3, rank + 1);
    group.allreduce({tensor})->wait();
    EXPECT_EQ(tensor[0].item<float>(), 3);
    EXPECT_EQ(cpu->sequenceNumber(), 1u);
    EXPECT_EQ(other->sequenceNumber(), 0u);
    group.barrier()->wait();
    EXPECT_EQ(cpu->sequenceNumber(), 2u) << "a barrier covers all backends";
    EXPECT_EQ(other->sequenceNumber(), 1u);
    EXPECT_EQ(group.sequenceNumber(), 2u);
  });
}

TEST(DeviceGroup, NamesTheDeviceThatHasNoBackend) {
  const auto store = std::make_shared<store::HashStore>();
  DeviceGroup group("one", {{c10::DeviceType::CUDA, glooGroup(store, 0, 1, "cuda")}});
  EXPECT_EQ(textOf<std::invalid_argument>([&] { group.allreduce({filled(3, 1)}); }),
            "cuda:gloo::allreduce: there is no backend for tensors on cpu");
}

TEST(DeviceGroup, RefusesGroupsOfOtherRanks) {
  const auto store = std::make_shared<store::HashStore>();
  const auto one = glooGroup(store, 0, 1, "one");
  support::runRanks(2, [&](int rank) {
    const auto two = glooGroup(store, rank, 2, "two");
    EXPECT_THAT(textOf<std::invalid_argument>([&] {
                  DeviceGroup("both",
                              {{c10::DeviceType::CPU, two}, {c10::DeviceType::CUDA, one}});
                }),
                HasSubstr("groups[1] is rank 0 of 1 and groups[0] is rank"));
  });
  EXPECT_THROW(DeviceGroup("none", {}), std::invalid_argument);
}

TEST(DeviceGroup, IsMadeFromAMapWhoseBackendsThereAre) {
  GroupOptions options = quickOptions();
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    auto made = makeProcessGroup("cpu:gloo,meta:gloo", store, rank, 2, options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made.value()->groupName(), "default");
    at::Tensor tensor = filled(2, 1);
    made.value()->allreduce({tensor})->wait();
    EXPECT_EQ(tensor[1].item<float>(), 2);
    made.value()->barrier()->wait();
  });
}

TEST(DeviceGroup, PartsCountTheirOperationsUnderNumbersOfTheirOwnInEvents) {
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(2, [&](int rank) {
    support::RankRecording recorded;
    GroupOptions options = quickOptions();
    options.tracer = &recorded.tracer();
    auto made = makeProcessGroup("cpu:gloo,meta:gloo", store, rank, 2, options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    made.value()->barrier()->wait();
    made.value()->allreduce({filled(2, 1)})->wait();
    std::multiset<int> numbers;
    for (const trace::Event& span : recorded.eventsOf(trace::EventKind::kCollective)) {
      numbers.insert(trace::groupOf(span.detail));
    }
    EXPECT_THAT(numbers, testing::ElementsAre(0, 184, 184));
  });
}

}  // namespace
}  // namespace lockstep::process_group

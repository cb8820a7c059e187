#include "engine/process_group/ProcessGroupFactory.h"

#include <gmock/gmock.h>

#include <cstdint>

#include "engine/store/HashStore.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

std::string refusalToMake(const std::string& backend, int rank, int size,
                          GroupOptions options = {}) {
  auto made = makeProcessGroup(backend, std::make_shared<store::HashStore>(), rank, size, options);
  return made.ok() ? "it was made" : made.error().message();
}

TEST(ProcessGroupFactory, NamesTheBackendsThereAre) {
  const std::string text = refusalToMake("smoke_signals", 0, 1);
  EXPECT_THAT(text, HasSubstr("there is no backend \"smoke_signals\" in this build"));
  for (const std::string& name : availableBackends()) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

TEST(ProcessGroupFactory, RefusesRanksAndSizesThatCannotBe) {
  EXPECT_EQ(refusalToMake("gloo", 2, 2), "rank 2 of a process group of 2; ranks are 0 to 1");
  EXPECT_EQ(refusalToMake("gloo", -1, 2), "rank -1 of a process group of 2; ranks are 0 to 1");
  EXPECT_EQ(refusalToMake("gloo", 0, 0), "a process group of 0 ranks; at least 1 is needed");
}

TEST(ProcessGroupFactory, RefusesOptionsThatCannotBe) {
  GroupOptions options;
  options.threads = 0;
  EXPECT_THAT(refusalToMake("gloo", 0, 1, options), HasSubstr("0 threads"));
  options = {};
  options.timeout = std::chrono::milliseconds(0);
  EXPECT_THAT(refusalToMake("gloo", 0, 1, options), HasSubstr("0 ms; it must be positive"));
  options = {};
  options.groupName.clear();
  EXPECT_THAT(refusalToMake("gloo", 0, 1, options), HasSubstr("empty name"));
}

TEST(ProcessGroupFactory, RefusesMoreTurnsThanThereCanBe) {
  GroupOptions options;
  options.roundRobin = 0;
  EXPECT_EQ(refusalToMake("gloo", 0, 1, options), "0 groups that take turns; there can be 1 to 64");
  options.roundRobin = 65;
  EXPECT_EQ(refusalToMake("gloo", 0, 1, options), "65 groups that take turns; there can be 1 to 64");
}

TEST(ProcessGroupFactory, NamesTheBackendOfADeviceMapThatIsNotThere) {
  EXPECT_THAT(refusalToMake("cpu:gloo,cuda:smoke_signals", 0, 1),
              HasSubstr("there is no backend \"smoke_signals\" in this build"));
  EXPECT_THAT(refusalToMake("cpu:gloo,toaster:gloo", 0, 1),
              HasSubstr("there is no device type \"toaster\""));
}

TEST(ProcessGroupFactory, KnowsTheModesOfChecksByName) {
  EXPECT_EQ(checkModeFrom("off"), CheckMode::kOff);
  EXPECT_EQ(checkModeFrom("first"), CheckMode::kFirst);
  EXPECT_EQ(checkModeFrom("always"), CheckMode::kAlways);
  EXPECT_EQ(checkModeFrom("sometimes"), std::nullopt);
  EXPECT_EQ(name(CheckMode::kFirst), "first");
}

TEST(BackendRegistry, MakesGroupsOfABackendThatWasAdded) {
  int asked = 0;
  const BackendFactory factory = [&](std::shared_ptr<store::Store>, int rank, int size,
                                     const GroupOptions& options) {
    ++asked;
    EXPECT_EQ(rank, 1);
    EXPECT_EQ(size, 3);
    EXPECT_EQ(options.groupName, "default");
    return base::Result<std::shared_ptr<ProcessGroup>>(
        base::Error{base::ExitCode::kEnvironment, "no pigeons today", ""});
  };
  ASSERT_TRUE(registerBackend("pigeon", factory).ok());
  EXPECT_THAT(availableBackends(), testing::Contains("pigeon"));
  EXPECT_EQ(refusalToMake("pigeon", 1, 3), "no pigeons today");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(registerBackend("pigeon", factory).error().message(),
            "backend \"pigeon\": there is one of this name already");
}

TEST(BackendRegistry, RefusesNamesThatCannotStandInAMap) {
  const BackendFactory factory = [](std::shared_ptr<store::Store>, int, int,
                                    const GroupOptions&) {
    return base::Result<std::shared_ptr<ProcessGroup>>(base::Error{});
  };
  for (const char* wrong : {"", "a:b", "a,b", "Big"}) {
    EXPECT_THAT(registerBackend(wrong, factory).error().message(),
                HasSubstr("lower-case letters, digits and '_' only"));
  }
  EXPECT_THAT(registerBackend("nothing", nullptr).error().message(),
              HasSubstr("without a factory"));
}

TEST(ProcessGroup, NamesItsReduceOperations) {
  EXPECT_EQ(name(ReduceOp::kSum), "sum");
  EXPECT_EQ(name(ReduceOp::kBitwiseXor), "bitwise_xor");
}

#ifdef LOCKSTEP_WITH_GLOO

TEST(ProcessGroup, AllocatesBucketsAtCacheLines) {
  auto group = makeProcessGroup("gloo", std::make_shared<store::HashStore>(), 0, 1);
  ASSERT_TRUE(group.ok()) << group.error().message();
  for (const std::int64_t bytes : {0, 1, 63, 64, 1000, 25 << 20}) {
    const at::Tensor memory = group.value()->allocate(bytes);
    EXPECT_EQ(memory.numel(), bytes);
    EXPECT_EQ(memory.dim(), 1);
    EXPECT_EQ(memory.scalar_type(), at::kByte);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data_ptr()) % 64, 0u) << bytes;
  }
}

#endif

}  // namespace
}  // namespace lockstep::process_group

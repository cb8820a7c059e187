#include "engine/process_group/ProcessGroupFactory.h"

#include <gmock/gmock.h>

#include <cstdint>

#include "engine/store/HashStore.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& backend, int rank, int size, GroupOptions options = {}) {
  auto made =
      makeProcessGroup(backend, std::make_shared<store::HashStore>(), rank, size, options);
  return made.ok() ? "it was made" : made.error().message();
}

TEST(ProcessGroupFactory, NamesTheBackendsThereAre) {
  const std::string text = refusal("smoke_signals", 0, 1);
  EXPECT_THAT(text, HasSubstr("there is no backend \"smoke_signals\" in this build"));
  for (const std::string& name : availableBackends()) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

TEST(ProcessGroupFactory, RefusesRanksAndSizesThatCannotBe) {
  EXPECT_EQ(refusal("gloo", 2, 2), "rank 2 of a process group of 2; ranks are 0 to 1");
  EXPECT_EQ(refusal("gloo", -1, 2), "rank -1 of a process group of 2; ranks are 0 to 1");
  EXPECT_EQ(refusal("gloo", 0, 0), "a process group of 0 ranks; at least 1 is needed");
}

TEST(ProcessGroupFactory, RefusesOptionsThatCannotBe) {
  GroupOptions options;
  options.threads = 0;
  EXPECT_THAT(refusal("gloo", 0, 1, options), HasSubstr("0 threads"));
  options = {};
  options.timeout = std::chrono::milliseconds(0);
  EXPECT_THAT(refusal("gloo", 0, 1, options), HasSubstr("0 ms; it must be positive"));
  options = {};
  options.groupName.clear();
  EXPECT_THAT(refusal("gloo", 0, 1, options), HasSubstr("empty name"));
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

#include "engine/process_group/shared_memory/Room.h"

#include <gtest/gtest.h>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::process_group::shared_memory {
namespace {

TEST(Room, InAControlGroupEndsWhereThatOfAGroupAroundItEnds) {
  const support::TemporaryFolder folder;
  const std::string root = folder.path().string();
  EXPECT_EQ(freeInControlGroup(root, "/slice/job"), kUnlimited);
  folder.write("slice/job/memory.max", "max\n");
  folder.write("slice/job/memory.current", "300\n");
  EXPECT_EQ(freeInControlGroup(root, "/slice/job"), kUnlimited);
  folder.write("slice/memory.max", "1000\n");
  folder.write("slice/memory.current", "900\n");
  EXPECT_EQ(freeInControlGroup(root, "/slice/job"), 100U);
  folder.write("slice/memory.stat", "anon 1\ninactive_file 30\nactive_file 20\n");
  EXPECT_EQ(freeInControlGroup(root, "/slice/job"), 150U) << "pages of files are given up";
  folder.write("slice/job/memory.max", "320\n");
  EXPECT_EQ(freeInControlGroup(root, "/slice/job"), 20U);
  EXPECT_EQ(freeInControlGroup(root, "/slice"), 150U);
  EXPECT_EQ(freeInControlGroup(root, "/"), kUnlimited);
  // As in a container, which sees its own group as the root.
  folder.write("memory.max", "1000\n");
  folder.write("memory.current", "1010\n");
  EXPECT_EQ(freeInControlGroup(root, "/slice/job"), 0U);
  EXPECT_EQ(freeInControlGroup(root, "/"), 0U);
}

}  // namespace
}  // namespace lockstep::process_group::shared_memory

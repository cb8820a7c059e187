#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>

namespace lockstep::support {
namespace {

TEST(TemporaryFolder, GoesWithAllItHolds) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    EXPECT_EQ(readFile(folder.write("deep/down/file.txt", "text")), "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace lockstep::support

#include "engine/experiment/Listing.h"

#include <gmock/gmock.h>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::experiment {
namespace {

TEST(Listing, ListsSoundAndBrokenExperimentsInOrder) {
  const support::TemporaryFolder folder;
  folder.write("b/broken.toml", "shows = \"a mistake\"\n[ddp]\nbucket_cap_mb = 0\n");
  folder.write("a/sound.toml", "name = \"Sound\"\nshows = \"much\"\n[train]\nsteps = 1\n");
  folder.write("a/notes.txt", "no experiment");
  const auto list = listExperiments(folder.path());
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list.value().size(), 2U);
  EXPECT_EQ(list.value()[0].name, "Sound");
  EXPECT_EQ(list.value()[0].shows, "much");
  EXPECT_TRUE(list.value()[0].mistakes.empty());
  EXPECT_EQ(list.value()[1].name, "broken");
  EXPECT_EQ(list.value()[1].shows, "a mistake");
  EXPECT_EQ(list.value()[1].mistakes.size(), 2U);
}

TEST(Listing, NamesAFolderThatIsNotThere) {
  const support::TemporaryFolder folder;
  const auto list = listExperiments(folder / "absent");
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().where, (folder / "absent").string());
}

}  // namespace
}  // namespace lockstep::experiment

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

TEST(Listing, SaysWhatToLookForAsTheHeadOfTheFileDoes) {
  EXPECT_EQ(lookForOf("# What it is.\n#\n# Look for: late buckets,\n# and why.\n#\n# More.\nname = \"a\"\n"),
            "late buckets, and why.");
  EXPECT_EQ(lookForOf("# A paper.\n#\n# Expected: a U.\n"), "a U.");
  EXPECT_EQ(lookForOf("# Nothing.\n"), "");
  EXPECT_EQ(lookForOf("name = \"a\"\n# Look for: this is no head\n"), "");
  EXPECT_EQ(lookForOf(""), "");
  const support::TemporaryFolder folder;
  folder.write("a.toml", "# Look for: the gap.\nname = \"A\"\n[train]\nsteps = 1\n");
  EXPECT_EQ(listExperiment(folder / "a.toml").lookFor, "the gap.");
}

TEST(Listing, AFolderInAFilesPlaceIsAMistakeOfThatName) {
  const support::TemporaryFolder folder;
  folder.write("a.toml/inside.txt", "");
  const ListedExperiment listed = listExperiment(folder / "a.toml");
  EXPECT_EQ(listed.lookFor, "");
  EXPECT_FALSE(listed.mistakes.empty());
}

TEST(Listing, NamesAFolderThatIsNotThere) {
  const support::TemporaryFolder folder;
  const auto list = listExperiments(folder / "absent");
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().where, (folder / "absent").string());
}

}  // namespace
}  // namespace lockstep::experiment

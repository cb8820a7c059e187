#include "ui/shell/ExperimentCatalog.h"

#include <gtest/gtest.h>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::ui {
namespace {

constexpr const char* kShows =
    "name = \"n\"\nshows = \"Something to see.\"\n[train]\nsteps = 1\n";

TEST(ExperimentCatalog, PutsFirstStepsAndTheDemoFirst) {
  const support::TemporaryFolder folder;
  folder.write("faults/slow_rank.toml", kShows);
  folder.write("first_steps/cnn.toml", kShows);
  folder.write("first_steps/demo.toml", kShows);
  const auto entries = listExperiments(QString::fromStdString(folder.path().string()));
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].name, "demo");
  EXPECT_EQ(entries[1].name, "cnn");
  EXPECT_EQ(entries[2].group, "faults");
  EXPECT_EQ(entries[0].shows, "Something to see.");
  EXPECT_EQ(entries[0].mistake, QString());
}

TEST(ExperimentCatalog, SaysWhatToLookForInARun) {
  const support::TemporaryFolder folder;
  folder.write("a.toml", std::string("# Look for: the last\n# bucket.\n") + kShows);
  EXPECT_EQ(listExperiments(QString::fromStdString(folder.path().string())).at(0).lookFor,
            "the last bucket.");
}

TEST(ExperimentCatalog, KeepsABrokenFileWithItsFirstMistake) {
  const support::TemporaryFolder folder;
  folder.write("odd.toml", "[model]\nkindd = \"mlp\"\n[train]\nsteps = 1\n");
  const auto entries = listExperiments(QString::fromStdString(folder.path().string()));
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_TRUE(entries[0].mistake.contains("kindd")) << entries[0].mistake.toStdString();
}

TEST(ExperimentCatalog, IsEmptyWhereThereIsNoFolder) {
  EXPECT_TRUE(listExperiments("/nonexistent").empty());
  EXPECT_TRUE(listExperiments({}).empty());
}

}  // namespace
}  // namespace lockstep::ui

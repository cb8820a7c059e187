#include "ui/panels/runs/RunLabel.h"

#include <gtest/gtest.h>

#include <QFile>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::ui {
namespace {

class RunLabelTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path run() const { return folder_ / "run.lockstep"; }

  support::TemporaryFolder folder_;
};

TEST_F(RunLabelTest, StandsBesideTheRunAndComesBack) {
  const RunLabel label{"the good one", {"baseline", "to show"}, "after the fix of the loader"};
  EXPECT_EQ(writeRunLabel(run(), label), "");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run.lockstep.label.json"));
  EXPECT_FALSE(std::filesystem::exists(run())) << "the run file itself is not touched";
  EXPECT_EQ(readRunLabel(run()), label);
}

TEST_F(RunLabelTest, AnEmptyOneLeavesNoFile) {
  ASSERT_EQ(writeRunLabel(run(), {"name", {}, {}}), "");
  EXPECT_EQ(writeRunLabel(run(), {}), "");
  EXPECT_FALSE(std::filesystem::exists(labelFileOf(run())));
  EXPECT_EQ(writeRunLabel(run(), {}), "") << "nor is one missed";
}

TEST_F(RunLabelTest, TagsAreDividedByCommasAndStandOnce) {
  EXPECT_EQ(tagsOf(" to  show,baseline, ,baseline"), (QStringList{"baseline", "to show"}));
  EXPECT_TRUE(tagsOf(" , ").isEmpty());
}

TEST_F(RunLabelTest, AFileThatIsNoLabelIsLeftAsItIs) {
  const QString path = QString::fromStdString(labelFileOf(run()).string());
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("{\"version\": 7}");
  file.close();
  EXPECT_TRUE(readRunLabel(run()).empty());
  EXPECT_EQ(writeRunLabel(run(), {"name", {}, {}}),
            path + " is no label of a run that this version can read; it was left as it is.");
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll(), "{\"version\": 7}");
}

TEST_F(RunLabelTest, SaysWhyItCannotBeWritten) {
  const QString mistake = writeRunLabel("/nowhere/at/all.lockstep", {"name", {}, {}});
  EXPECT_TRUE(mistake.startsWith("/nowhere/at/all.lockstep.label.json cannot be written: "));
  EXPECT_TRUE(
      mistake.contains("Names, tags and notes stand beside the run: make its folder "
                       "writable, or copy the run."))
      << mistake.toStdString();
}

}  // namespace
}  // namespace lockstep::ui

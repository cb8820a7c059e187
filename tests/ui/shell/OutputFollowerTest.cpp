#include "ui/shell/OutputFollower.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/Screen.h"

namespace lockstep::ui {
namespace {

class OutputFollowerTest : public testing::Test {
 protected:
  OutputFollowerTest() {
    QObject::connect(&follower_, &OutputFollower::grew,
                     [this](const QStringList& lines) { told_ += lines; });
  }
  void write(const std::string& text) {
    std::ofstream(folder_ / "out.log", std::ios::app | std::ios::binary) << text;
  }
  QString path() const { return QString::fromStdString((folder_ / "out.log").string()); }

  support::TemporaryFolder folder_;
  OutputFollower follower_;
  QStringList told_;
};

TEST_F(OutputFollowerTest, TellsLinesAsTheyAreWritten) {
  follower_.follow(path());  // before it is there
  write("one\n\ntw");
  ASSERT_TRUE(tests::waitUntil([this] { return !told_.isEmpty(); }));
  EXPECT_EQ(told_, QStringList{"one"});
  write("o\n   three\r\n");
  ASSERT_TRUE(tests::waitUntil([this] { return told_.size() > 2; }));
  EXPECT_EQ(told_, (QStringList{"one", "two", "   three"}));
}

TEST_F(OutputFollowerTest, ReadsTheRestWhenTheProcessHasEnded) {
  follower_.follow(path());
  write("one\n 10 %\r 100 %\nthe last line has no end");
  follower_.finish();
  EXPECT_EQ(told_, (QStringList{"one", " 100 %", "the last line has no end"}));
  EXPECT_EQ(follower_.lines(), told_);
}

TEST_F(OutputFollowerTest, SaysWhereTheRestOfTooMuchStandsAndHowItEnds) {
  std::string lines;
  for (int line = 0; line < 2'000'000; ++line) {
    lines += "a line.\n";  // 16 MB
  }
  write(lines);
  follower_.follow(path());
  ASSERT_TRUE(tests::waitUntil(
      [this] { return told_.contains("(the rest of it stands in " + path() + ")"); }));
  EXPECT_LT(told_.size(), 1'500'000);
  EXPECT_LE(follower_.lines().size(), 1000);
  write("the end\n");
  follower_.finish();
  EXPECT_EQ(follower_.lines().back(), "the end");
}

}  // namespace
}  // namespace lockstep::ui

#include "ui/model/Annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFile>
#include <QUndoStack>

#include "tests/support/TemporaryFolder.h"

namespace lockstep::ui {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class AnnotationsTest : public testing::Test {
 protected:
  std::filesystem::path run() const { return folder_ / "a.lockstep"; }
  QString file() const { return QString::fromStdString(Annotations::fileOf(run()).string()); }

  static Mark note(double ns, const char* text, std::int64_t span = -1) {
    Mark mark;
    mark.kind = Mark::Kind::kNote;
    mark.ns = ns;
    mark.text = QString::fromUtf8(text);
    mark.span = span;
    mark.lane = span < 0 ? -1 : 3;
    return mark;
  }

  support::TemporaryFolder folder_;
  QUndoStack undo_;
  Annotations notes_;
};

TEST_F(AnnotationsTest, AreThereAgainWhenTheRunIsOpenedAnew) {
  notes_.open(run(), &undo_);
  EXPECT_FALSE(QFile::exists(file())) << "nothing is written before there is something";
  notes_.toggleBookmark(5000);
  notes_.setNote(note(2000, "loss jumps here", 17));
  notes_.storeView(3, {100, 900});

  Annotations again;
  again.open(run(), nullptr);
  EXPECT_EQ(again.marks(), notes_.marks());
  ASSERT_THAT(again.marks(), SizeIs(2));
  EXPECT_EQ(again.marks()[0].text, "loss jumps here") << "in order of time";
  EXPECT_EQ(again.marks()[0].span, 17);
  EXPECT_EQ(again.view(3), (TimeRange{100, 900}));
  EXPECT_FALSE(again.view(4).has_value());
}

TEST_F(AnnotationsTest, AreUndoneAndRedoneInTheFileToo) {
  notes_.open(run(), &undo_);
  notes_.toggleBookmark(5000);
  notes_.setNote(note(2000, "one"));
  undo_.undo();
  EXPECT_THAT(notes_.marks(), SizeIs(1));
  Annotations again;
  again.open(run(), nullptr);
  EXPECT_THAT(again.marks(), SizeIs(1));
  undo_.redo();
  EXPECT_THAT(notes_.marks(), SizeIs(2));
  undo_.undo();
  undo_.undo();
  EXPECT_TRUE(notes_.empty());
  EXPECT_FALSE(QFile::exists(file())) << "an empty file is none";
}

TEST_F(AnnotationsTest, ANoteOnTheSamePlaceIsChangedAndAnEmptyOneGoes) {
  notes_.open(run(), &undo_);
  notes_.setNote(note(2000, "first", 17));
  notes_.setNote(note(2000, "second", 17));
  ASSERT_THAT(notes_.marks(), SizeIs(1));
  EXPECT_EQ(notes_.marks()[0].text, "second");
  notes_.setNote(note(2000, "  ", 17));
  EXPECT_TRUE(notes_.marks().empty());
}

TEST_F(AnnotationsTest, ASecondBookmarkAtATimeRemovesTheFirst) {
  notes_.open(run(), &undo_);
  notes_.toggleBookmark(10);
  notes_.toggleBookmark(30);
  notes_.toggleBookmark(20);
  EXPECT_EQ(notes_.bookmarkFrom(10, 1)->ns, 20);
  EXPECT_EQ(notes_.bookmarkFrom(20, -1)->ns, 10);
  EXPECT_FALSE(notes_.bookmarkFrom(30, 1).has_value());
  notes_.toggleBookmark(20);
  EXPECT_EQ(notes_.bookmarkFrom(10, 1)->ns, 30);
}

TEST_F(AnnotationsTest, AFileThatIsNotTheirsIsLeftAloneAndSaidInOneSentence) {
  QFile other(file());
  ASSERT_TRUE(other.open(QIODevice::WriteOnly));
  other.write("{\"shopping\": [\"milk\"]}");
  other.close();
  QStringList said;
  QObject::connect(&notes_, &Annotations::failed, &notes_,
                   [&](const QString& sentence) { said << sentence; });
  notes_.open(run(), &undo_);
  notes_.toggleBookmark(1);
  notes_.toggleBookmark(2);
  ASSERT_EQ(said.size(), 1);
  EXPECT_THAT(said[0].toStdString(), HasSubstr("cannot be read"));
  EXPECT_THAT(notes_.marks(), SizeIs(2)) << "kept as long as the run is open";
  ASSERT_TRUE(other.open(QIODevice::ReadOnly));
  EXPECT_EQ(other.readAll(), "{\"shopping\": [\"milk\"]}");
}

TEST_F(AnnotationsTest, SayOnceThatTheyCannotBeSaved) {
  QStringList said;
  QObject::connect(&notes_, &Annotations::failed, &notes_,
                   [&](const QString& sentence) { said << sentence; });
  notes_.open(folder_ / "no" / "such" / "folder" / "a.lockstep", &undo_);
  notes_.toggleBookmark(1);
  notes_.toggleBookmark(2);
  ASSERT_EQ(said.size(), 1);
  EXPECT_THAT(said[0].toStdString(), HasSubstr("cannot be saved"));
}

TEST_F(AnnotationsTest, OfARunWithoutAFileStayInMemory) {
  notes_.open({}, nullptr);
  notes_.toggleBookmark(1);
  EXPECT_THAT(notes_.marks(), SizeIs(1));
}

}  // namespace
}  // namespace lockstep::ui

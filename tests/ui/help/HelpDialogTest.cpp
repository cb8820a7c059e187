#include "ui/help/HelpDialog.h"

#include <gtest/gtest.h>

#include <QLineEdit>
#include <QTextBrowser>
#include <QTreeWidget>
#include <QUrl>

#include "ui/help/GlossaryTopics.h"

namespace lockstep::ui {
namespace {

class HelpDialogTest : public testing::Test {
 protected:
  HelpDialogTest() : dialog_(&window_) {
    window_.resize(1024, 640);
    std::vector<HelpTopic> topics{
        {"Views", "Overlap", "What is hidden.", {{"Terms", "overlap, headroom", true}}},
        {"Keys", "Runs", {}, {{"F5", "Run"}, {"Shift+F5", "Stop"}}}};
    for (HelpTopic& topic : glossaryTopics()) {
      topics.push_back(std::move(topic));
    }
    dialog_.setTopics(std::move(topics));
  }

  void type(const QString& text) { dialog_.findChild<QLineEdit*>("helpSearch")->setText(text); }
  QTreeWidget* tree() { return dialog_.findChild<QTreeWidget*>("helpTopics"); }

  QWidget window_;
  HelpDialog dialog_;
};

TEST_F(HelpDialogTest, IsNeverLargerThanItsWindow) {
  dialog_.openAt("Views", "Overlap");
  EXPECT_LT(dialog_.width(), 1024);
  EXPECT_LT(dialog_.height(), 640);
  window_.resize(700, 400);
  dialog_.openAt("Views", "Overlap");
  EXPECT_LT(dialog_.width(), 700);
  EXPECT_LT(dialog_.height(), 400);
}

TEST_F(HelpDialogTest, OpensAtATopic) {
  dialog_.openAt(glossaryChapter(), "exposed time");
  EXPECT_EQ(dialog_.shownTitle(), "exposed time");
  EXPECT_TRUE(dialog_.shownText().contains("Formula")) << dialog_.shownText().toStdString();
  EXPECT_TRUE(dialog_.shownText().contains("ms a step"));
  dialog_.openAt("Keys", {});
  EXPECT_EQ(dialog_.shownTitle(), "Runs");
  dialog_.openAt("Keys", "no such topic");
  EXPECT_EQ(dialog_.shownTitle(), "Overlap") << "the beginning";
}

TEST_F(HelpDialogTest, SearchesAllChaptersAndShowsWhatIsMeantMost) {
  dialog_.openAt("Views", "Overlap");
  type("straggler");
  EXPECT_EQ(dialog_.shownTitle(), "late rank");
  type("stop");
  EXPECT_EQ(dialog_.shownTitle(), "Runs");
  EXPECT_TRUE(dialog_.shownText().contains("Shift+F5"));
  type("no such word");
  EXPECT_EQ(dialog_.shownTitle(), QString());
  EXPECT_EQ(dialog_.shownText(), "Nothing here has \"no such word\" in it.");
  EXPECT_EQ(tree()->topLevelItemCount(), 0);
  type("");
  EXPECT_EQ(tree()->topLevelItemCount(), 3);
}

TEST_F(HelpDialogTest, ALinkLeadsFromPageToPageAcrossChapters) {
  dialog_.openAt("Views", "Overlap");
  auto* page = dialog_.findChild<QTextBrowser*>("helpPage");
  emit page->anchorClicked(QUrl("topic:noop bound"));
  EXPECT_EQ(dialog_.shownTitle(), "noop bound");
}

TEST_F(HelpDialogTest, EveryEntryOfTheGlossaryIsReached) {
  for (const HelpTopic& topic : glossaryTopics()) {
    dialog_.openAt(glossaryChapter(), topic.title);
    EXPECT_EQ(dialog_.shownTitle(), topic.title);
    type(topic.title);
    EXPECT_EQ(dialog_.shownTitle().compare(topic.title, Qt::CaseInsensitive), 0)
        << topic.title.toStdString() << " is found as " << dialog_.shownTitle().toStdString();
  }
}

}  // namespace
}  // namespace lockstep::ui

#include "ui/panels/findings/Findings.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/panels/findings/SampleFindings.h"
#include "tests/ui/shell/Screen.h"
#include "ui/model/RunAnalyser.h"
#include "ui/panels/findings/FindingCard.h"
#include "ui/panels/findings/FindingsLine.h"
#include "ui/panels/findings/FindingsList.h"
#include "ui/panels/findings/VerdictCard.h"

namespace lockstep::ui {
namespace {

using test::twoFindings;
using tests::waitUntil;

TEST(FindingsLine, SaysAsManyWordsAsThereIsRoomForAndAlwaysHowManyMoreThereAre) {
  FindingsLine line;
  line.setHeadline(headlineOf(twoFindings().get()));
  line.resize(700, 28);
  EXPECT_EQ(line.shownText(), "Rank 2 is late: 20.40 ms a step (19.80 to 20.90)");
  EXPECT_LT(line.pill().width(), 700) << "only what is drawn can be pressed";
  line.resize(line.pill().width() - 20, 28);
  EXPECT_EQ(line.shownText(), "Rank 2 is late: 20.40 ms a step");
  line.resize(line.minimumSizeHint().width() + 60, 28);
  EXPECT_TRUE(line.shownText().startsWith("Rank") && line.shownText().endsWith("…"))
      << line.shownText().toStdString();
  line.resize(line.minimumSizeHint().width(), 28);
  EXPECT_EQ(line.shownText(), "");
  EXPECT_LE(line.pill().right(), line.width());
  EXPECT_TRUE(line.toolTip().endsWith("and 1 more")) << line.toolTip().toStdString();
}

TEST(FindingsLine, TakesNoRoomFromTheTabsBesideIt) {
  QWidget row;
  auto* layout = new QHBoxLayout(&row);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* tabs = new QTabBar;
  for (const char* name : {"Live", "Timeline", "Buckets"}) {
    tabs->addTab(name);
  }
  auto* line = new FindingsLine;
  line->setHeadline(headlineOf(twoFindings().get()));
  layout->addWidget(tabs);
  layout->addWidget(line, 1);
  row.resize(tabs->sizeHint().width() + 120, 40);
  row.show();
  ASSERT_TRUE(waitUntil([&] { return line->isVisible() && line->width() > 0; }));
  EXPECT_EQ(tabs->width(), tabs->sizeHint().width());
  EXPECT_EQ(row.sizeHint().height(), tabs->sizeHint().height());
}

// Its words are laid out for milliseconds, in the thread that draws, and a run grows all the time.
TEST(Findings, OfARunThatGrowsTheCardIsNotToldAnewWithEachEvent) {
  QWidget window;
  Findings findings(&window);
  RunModel model;
  RunAnalyser analyser(model);
  RunDiagnoser diagnoser(model, analyser);
  test::Feed feed(1);
  const auto step = [&](std::uint32_t number) {
    model.applyUpdate(
        feed.span(1, trace::EventKind::kStep, 100 * number, 100 * number + 90, number).take());
    emit model.changed();
  };
  step(0);
  findings.setRun(&model, &diagnoser);
  const auto told = [&] { return findings.card()->words().subject; };
  ASSERT_TRUE(told().endsWith("1 iteration")) << told().toStdString();
  for (std::uint32_t number = 1; number < 30; ++number) {
    step(number);
  }
  EXPECT_TRUE(told().endsWith("1 iteration")) << told().toStdString();
  EXPECT_TRUE(waitUntil([&] { return told().endsWith("30 iterations"); }));
}

// The list over a window of its own, with a real pointer and keyboard.
class FindingsListTest : public testing::Test {
 protected:
  FindingsListTest() {
    window_.setGeometry(0, 0, tests::kScreenWidth, tests::kScreenHeight);
    window_.show();
    window_.activateWindow();
    EXPECT_TRUE(waitUntil([this] { return window_.isActiveWindow(); }));
    QObject::connect(&list_, &FindingsList::showRequested, &window_,
                     [this](const diagnosis::Finding& finding) { shown_.push_back(finding.title); });
    QObject::connect(
        &list_, &FindingsList::applyRequested, &window_,
        [this](const diagnosis::Finding& finding) { applied_.push_back(finding.settings); });
  }
  void open() {
    list_.openBelow({1000, 60, 200, 24});
    ASSERT_TRUE(waitUntil([this] { return list_.isVisible(); }));
  }
  std::vector<FindingCard*> cards() {
    std::vector<FindingCard*> seen;
    for (FindingCard* card : list_.findChildren<FindingCard*>()) {
      if (card->isVisible()) seen.push_back(card);
    }
    std::sort(seen.begin(), seen.end(), [](auto* a, auto* b) { return a->y() < b->y(); });
    return seen;
  }
  void click(const QWidget* widget) {
    const QPoint at = tests::middleOf(widget);
    input_.click(at.x(), at.y());
  }

  QWidget window_;
  FindingsList list_{&window_};
  tests::XTestClient input_;
  std::vector<std::string> shown_;
  std::vector<std::vector<diagnosis::Setting>> applied_;
};

TEST_F(FindingsListTest, HasACardForEachFindingInTheirOrderAndClipsNone) {
  list_.setDiagnosis(twoFindings());
  open();
  const auto seen = cards();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0]->accessibleName(), "Rank 2 is late");
  EXPECT_FALSE(seen[0]->applyButton()->isVisible()) << "nothing can be set against it";
  EXPECT_TRUE(seen[1]->applyButton()->isVisible());
  for (FindingCard* card : seen) {
    for (const QLabel* label : card->findChildren<QLabel*>()) {
      EXPECT_TRUE(waitUntil([label] {
        return label->isHidden() || label->height() >= label->heightForWidth(label->width());
      })) << label->objectName().toStdString() << label->height() << " of "
          << label->heightForWidth(label->width());
    }
  }
  EXPECT_TRUE(window_.rect().contains(
      QRect(window_.mapFromGlobal(list_.geometry().topLeft()), list_.size())));
  tests::keep(input_.screenshot(), "findings-list");
}

TEST_F(FindingsListTest, ItsButtonsCloseItAndAskForWhatTheySay) {
  list_.setDiagnosis(twoFindings());
  open();
  click(cards()[0]->showButton());
  ASSERT_TRUE(waitUntil([this] { return !shown_.empty() && !list_.isVisible(); }));
  EXPECT_EQ(shown_.front(), "rank 2 is late");
  open();
  click(cards()[1]->applyButton());
  ASSERT_TRUE(waitUntil([this] { return !applied_.empty() && !list_.isVisible(); }));
  EXPECT_EQ(applied_.front(), (std::vector<diagnosis::Setting>{{"ddp.bucket_cap_mb", "25"}}));
}

TEST_F(FindingsListTest, EscAndAClickElsewhereCloseIt) {
  list_.setDiagnosis(twoFindings());
  open();
  input_.key(tests::kKeyEscape);
  EXPECT_TRUE(waitUntil([this] { return !list_.isVisible(); }));
  open();
  input_.click(100, 700);
  EXPECT_TRUE(waitUntil([this] { return !list_.isVisible(); }));
  EXPECT_TRUE(shown_.empty());
}

TEST_F(FindingsListTest, SaysWhyNothingCanBeApplied) {
  list_.setDiagnosis(twoFindings());
  list_.blockApply("No lockstep program");
  open();
  EXPECT_FALSE(cards()[1]->applyButton()->isEnabled());
  EXPECT_EQ(cards()[1]->applyButton()->toolTip(), "No lockstep program");
}

TEST_F(FindingsListTest, ChangesWhileItIsOpen) {
  auto fewer = std::make_shared<diagnosis::Diagnosis>(*twoFindings());
  fewer->findings.resize(1);
  list_.setDiagnosis(fewer);
  open();
  EXPECT_EQ(cards().size(), 1U);
  const int low = list_.height();
  list_.setDiagnosis(twoFindings());
  list_.moveBelow({1000, 60, 200, 24});
  EXPECT_TRUE(waitUntil([&] { return cards().size() == 2 && list_.height() > low; }));
  auto nothing = std::make_shared<diagnosis::Diagnosis>();
  nothing->nothing = "Nothing stands out in 40 measured steps of 28.10 ms.";
  list_.setDiagnosis(nothing);
  ASSERT_TRUE(waitUntil([&] { return cards().size() == 1; }));
  EXPECT_FALSE(cards()[0]->showButton()->isVisible());
  EXPECT_EQ(cards()[0]->findChild<QLabel*>("findingSentence")->text().toStdString(),
            nothing->nothing);
}

}  // namespace
}  // namespace lockstep::ui

#include "tests/ui/shell/MainWindowFixture.h"

#include <QAction>
#include <QComboBox>
#include <QFrame>
#include <QHeaderView>
#include <QPushButton>
#include <QTabWidget>
#include <QTableView>
#include <algorithm>
#include <string>

#include "engine/glossary/Glossary.h"
#include "ui/help/HelpDialog.h"
#include "ui/help/TermUnder.h"
#include "ui/help/Tour.h"
#include "ui/panels/StudioStore.h"
#include "ui/panels/TermTips.h"
#include "ui/shell/Stages.h"
#include "ui/shell/ViewTopics.h"
#include "ui/views/buckets/BucketsView.h"
#include "ui/views/divergence/ParameterTab.h"
#include "ui/views/divergence/SequenceTab.h"
#include "ui/views/hooks/HooksView.h"
#include "ui/views/live/LiveView.h"
#include "ui/views/overlap/BucketTab.h"
#include "ui/views/overlap/OverlapView.h"
#include "ui/views/ranks/RanksView.h"
#include "ui/views/whatif/WhatIfView.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

constexpr xcb_keysym_t kKeyF7 = 0xFFC4;

// Help, glossary, tour, and what an experiment says one should look for.
class HelpTest : public tests::MainWindowFixture {
 protected:
  ~HelpTest() override { ui::studioStore().remove("tour/offered"); }

  ui::HelpDialog* help() { return window().findChild<ui::HelpDialog*>("help"); }
  bool waitForHelp(const QString& title) {
    return waitUntil(
        [&] { return help() != nullptr && help()->isVisible() && help()->shownTitle() == title; });
  }
  void pointAt(const QPoint& at) { input_.moveTo(at.x(), at.y()); }
  ui::Tour* tour() { return window().findChild<ui::Tour*>("tour"); }
};

TEST_F(HelpTest, QuestionMarkShowsTheKeysOfEveryCommand) {
  window();
  input_.key('/', {tests::kKeyShift});
  ASSERT_TRUE(waitForHelp("All keys"));
  for (const char* key : {"F5", "Shift+F5", "Ctrl+F5", "Ctrl+O", "Ctrl+E", "PgUp", "Wheel"}) {
    EXPECT_TRUE(help()->shownText().contains(key)) << key;
  }
}

TEST_F(HelpTest, EachViewsCanvasLeadsToTheGlossary) {
  const auto term = [this](auto* view) {
    const QString heading = view->canvas()->client().headingAt(QPointF(5, 5));
    const glossary::Entry* entry = glossary::find(heading.toStdString());
    return entry == nullptr ? heading.toStdString() : std::string(entry->term);
  };
  EXPECT_EQ(term(window().findChild<ui::BucketsView*>()), "bucket");
  EXPECT_EQ(term(window().findChild<ui::BucketTab*>()), "cost");
  EXPECT_EQ(term(window().findChild<ui::ParameterTab*>()), "fingerprint");
  EXPECT_EQ(term(window().findChild<ui::SequenceTab*>()), "call number");
  EXPECT_EQ(term(window().findChild<ui::HooksView*>()), "hook phase");
  EXPECT_EQ(term(window().findChild<ui::WhatIfView*>()), "forecast");
  auto* figure = window().findChild<QComboBox*>("bucketMeasure");
  for (const char* word :
       {"cost", "exposed time", "lateness", "collective", "waiting", "transfer"}) {
    EXPECT_EQ(term(window().findChild<ui::BucketTab*>()), word);
    figure->setCurrentIndex(std::min(figure->currentIndex() + 1, figure->count() - 1));
  }
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<ui::Stages>("stages")->setCurrent("ranks");
  auto* ranks = window().findChild<ui::RanksView*>();
  ASSERT_TRUE(waitUntil([&] { return ranks->content() != nullptr; }));
  for (int i = 0; i < ranks->figureBox()->count(); ++i) {
    ranks->figureBox()->setCurrentIndex(i);
    EXPECT_NE(glossary::find(term(ranks)), nullptr) << term(ranks);
  }
}

TEST_F(HelpTest, F1OpensTheHelpOfTheViewInSightAndFitsTheSmallestWindow) {
  window().resize(1024, 640);
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<ui::Stages>("stages")->setCurrent("divergence");
  pointAt(window().mapToGlobal(QPoint(2, 2)));
  input_.key(tests::kKeyF1);
  ASSERT_TRUE(waitForHelp("Divergence"));
  EXPECT_LE(help()->width(), 1024);
  EXPECT_LE(help()->height(), 640);
  tests::keep(input_.screenshot(), "help");
}

TEST_F(HelpTest, F1OverTheTitleOfAColumnOpensTheGlossaryAtItsTerm) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<ui::Stages>("stages")->setCurrent("overlap");
  find<QTabWidget>("overlapPictures")->setCurrentIndex(ui::OverlapView::kIterations);
  auto* tables = find<QTabWidget>("overlapTables");
  QTableView* table = nullptr;
  int section = -1;
  for (auto* each : tables->findChildren<QTableView*>()) {
    for (int i = 0; i < each->model()->columnCount(); ++i) {
      if (each->model()->headerData(i, Qt::Horizontal).toString() == "Backward ms") {
        table = each;
        section = i;
      }
    }
  }
  ASSERT_GE(section, 0);
  tables->setCurrentWidget(table);
  ASSERT_TRUE(waitUntil([&] { return table->isVisible(); }));
  QHeaderView* header = table->horizontalHeader();
  const int x = header->sectionViewportPosition(section) + 10;
  pointAt(header->viewport()->mapToGlobal(QPoint(x, header->height() / 2)));
  input_.key(tests::kKeyF1);
  EXPECT_TRUE(waitForHelp("backward"));
}

TEST_F(HelpTest, ShiftF1OverAFigureOfTheLiveViewOpensTheGlossaryAtIt) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<ui::Stages>("stages")->setCurrent("live");
  auto* live = window().findChild<ui::LiveView*>();
  ASSERT_TRUE(waitUntil([&] { return live->isVisible() && live->content() != nullptr; }));
  const QPointF at = live->scene().tileRect(ui::LiveFigure::kLateRank).center();
  pointAt(live->canvas()->mapToGlobal(at.toPoint()));
  input_.key(tests::kKeyF1, {tests::kKeyShift});
  EXPECT_TRUE(waitForHelp("late rank"));
}

TEST_F(HelpTest, F1OverABarOfTheTimelineOpensTheGlossaryAtIt) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<ui::Stages>("stages")->setCurrent("timeline");
  const auto at = collectiveOnScreen(20, 2);
  ASSERT_TRUE(at.has_value());
  pointAt(*at);
  input_.key(tests::kKeyF1);
  EXPECT_TRUE(waitForHelp("allreduce"));
}

// All terms that any widget says it shows, and all views.
TEST_F(HelpTest, EveryTermThatTheWindowNamesIsInTheGlossary) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  for (const QWidget* widget : window().findChildren<QWidget*>()) {
    if (const QString term = ui::shownTerm(widget); !term.isEmpty()) {
      EXPECT_NE(glossary::find(term.toStdString()), nullptr) << term.toStdString();
    }
  }
  const auto topics = ui::viewTopics(*find<ui::Stages>("stages"));
  EXPECT_EQ(static_cast<qsizetype>(topics.size()), find<ui::Stages>("stages")->names().size());
  for (const ui::HelpTopic& topic : topics) {
    EXPECT_FALSE(topic.text.isEmpty()) << topic.title.toStdString();
    ASSERT_EQ(topic.lines.size(), 3U) << topic.title.toStdString() << " is not explained";
    for (const QString& term : topic.lines.back().text.split(", ")) {
      const glossary::Entry* entry = glossary::find(term.toStdString());
      ASSERT_NE(entry, nullptr) << term.toStdString();
      EXPECT_EQ(entry->term, term.toStdString()) << "a link goes by the term itself";
    }
  }
}

TEST_F(HelpTest, TheTourIsOfferedOnceAndPointsAtTheStartPageFirst) {
  window();
  auto* offer = find<QWidget>("tourOffer");
  ASSERT_TRUE(waitUntil([&] { return offer->isVisible(); }));
  click(find<QPushButton>("takeTour"));
  ASSERT_TRUE(waitUntil([&] { return tour() != nullptr && tour()->step() == 0; }));
  EXPECT_FALSE(offer->isVisible());
  auto* first = find<QPushButton>("runFirst");
  EXPECT_TRUE(waitUntil([&] {  // what was offered goes away, and the page with it
    return tour()->hole().contains(QRect(first->mapTo(&window(), QPoint(0, 0)), first->size()));
  }));
  tests::keep(input_.screenshot(), "tour");
  input_.key(tests::kKeyEscape);
  EXPECT_TRUE(waitUntil([&] { return !tour()->isVisible(); }));
  closeWindow();
  EXPECT_FALSE(window().findChild<QWidget*>("tourOffer")->isVisible());
}

TEST_F(HelpTest, TheTourGoesOverTheOpenRunAndSurvivesOtherSizes) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  window().resize(1024, 640);
  find<QAction>("tour")->trigger();
  ASSERT_NE(tour(), nullptr);
  int steps = 0;
  for (; tour()->step() >= 0; ++steps) {
    ASSERT_LT(steps, 9);
    EXPECT_TRUE(waitUntil([&] { return !tour()->hole().isEmpty(); })) << "step " << steps;
    EXPECT_TRUE(window().rect().contains(tour()->findChild<QFrame*>()->geometry()));
    window().resize(window().width() + 16, window().height() + 16);
    EXPECT_TRUE(waitUntil([&] { return tour()->size() == window().size(); }));
    tour()->next();
  }
  EXPECT_GE(steps, 5);
  EXPECT_LE(steps, 8);
}

TEST_F(HelpTest, WhatToLookForIsReadBesideTheRunOfAShippedExperiment) {
  folder_.write(
      "experiments/first_steps/demo.toml",
      std::string("# Look for: the last bucket,\n# alone exposed.\n") + tests::kExperiment);
  trace::RunInfo info;
  info.runId = "shipped";
  info.name = "another name";
  info.worldSize = tests::SampleRun::kRanks;
  info.experimentToml = tests::kExperiment;
  EXPECT_FALSE(find<QAction>("lookFor")->isEnabled());
  window().openRun(runThatSays(info));
  ASSERT_TRUE(waitUntil([this] { return find<QAction>("lookFor")->isEnabled(); }));
  EXPECT_TRUE(find<QWidget>("lookForButton")->isVisible());
  click(find<QWidget>("lookForButton"));
  const QString said = "Look for: the last bucket, alone exposed.";
  EXPECT_TRUE(waitUntil([&] { return messages().contains(said); }));
  input_.key(kKeyF7);
  EXPECT_TRUE(waitUntil([&] { return !messages().contains(said); }));
  window().openRun(finishedRun());  // its experiment shows nothing
  EXPECT_TRUE(waitUntil([this] { return !find<QAction>("lookFor")->isEnabled(); }));
  EXPECT_FALSE(find<QWidget>("lookForButton")->isVisible());
}

}  // namespace
}  // namespace lockstep

#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <algorithm>

#include "engine/trace/Event.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/timeline/TimelineViewFixture.h"
#include "ui/views/timeline/FindLine.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/layers/NotesLayer.h"

namespace lockstep::ui {
namespace {

using Op = DisplayList::Op;

class TimelineInteraction : public TimelineViewTest {
 protected:
  DisplayList frame() {
    DisplayList list;
    view_->drawInto(list);
    return list;
  }

  bool says(const QString& part) {
    const auto texts = frame().texts();
    return std::any_of(texts.begin(), texts.end(),
                       [&](const QString& text) { return text.contains(part); });
  }

  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers) {
    QTest::mousePress(surface(), Qt::LeftButton, modifiers, from);
    moveTo((from + to) / 2, Qt::LeftButton);
    moveTo(to, Qt::LeftButton);
    QTest::mouseRelease(surface(), Qt::LeftButton, modifiers, to);
  }

  void scrollTo(double y) {
    for (auto* bar : view_->findChildren<QScrollBar*>()) {
      if (bar->orientation() == Qt::Vertical && bar->isVisible()) {
        bar->setValue(static_cast<int>(y));
      }
    }
  }

  // Types through the window, so that shortcuts are found as with a real keyboard.
  void focusWindow() {
    view_->activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(view_.get()));
    view_->setFocus();
  }

  void waitForSearch() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !view_->finder().searching(); }, 20'000));
  }

  // The one that is shown: others may still wait for their deletion.
  template <typename Widget>
  Widget* shown(const char* name) {
    for (Widget* widget : view_->findChildren<Widget*>(QString::fromLatin1(name))) {
      if (widget->isVisible()) {
        return widget;
      }
    }
    return nullptr;
  }

  // What the menu of the right button says at a place; triggers the entry that begins so.
  QStringList menu(QPoint position, const QString& entry = QString()) {
    QTest::mouseClick(surface(), Qt::RightButton, {}, position);
    auto* menu = shown<QMenu>("timelineMenu");
    QStringList texts;
    if (menu == nullptr) {
      return texts;
    }
    QAction* wanted = nullptr;
    for (QAction* action : menu->actions()) {
      texts << action->text();
      if (!entry.isEmpty() && action->text().startsWith(entry)) {
        wanted = action;
      }
    }
    if (wanted != nullptr) {
      wanted->trigger();
    }
    menu->close();
    return texts;
  }

  void type(const char* objectName, const QString& text) {
    auto* line = shown<QLineEdit>(objectName);
    ASSERT_NE(line, nullptr);
    line->selectAll();
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
  }
};

TEST_P(TimelineInteraction, AClickInTheWorldLaneSelectsTheCollectiveOfTheLateRank) {
  open({.slowFactor = 1.5});
  const Span late = first(EventKind::kCollective, 20, 1);
  const auto& row = view_->controller()->layout().world().rows.front();
  const int y = static_cast<int>(timeline_metrics::kRulerHeight + row.top + row.height / 2);
  const int x = static_cast<int>(view_->axis().toX(late.startNs + late.durationNs / 2));
  QTest::mouseClick(surface(), Qt::LeftButton, {}, QPoint(x, y));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->id, late.id);
  EXPECT_EQ(state_.selection()->rank(), 1);
  EXPECT_TRUE(says("rank 1 last, "));
}

TEST_P(TimelineInteraction, GJoinsEveryCollectiveInSightAcrossRanks) {
  open({.slowFactor = 1.5});
  const auto polygons = [&] {
    const DisplayList list = frame();
    return std::count_if(list.commands().begin(), list.commands().end(),
                         [](const auto& command) { return command.op == Op::kPolygon; });
  };
  const auto before = polygons();
  const auto inSight = model_.layoutAt(20)->buckets.size();
  trigger("G");
  EXPECT_GE(polygons(), before + 2 * static_cast<long>(inSight)) << "a ribbon and a triangle each";
  trigger("G");
  EXPECT_EQ(polygons(), before);
}

TEST_P(TimelineInteraction, OfManyRanksAClickKeysAndTheMenuSayWhichHaveLanes) {
  open({.ranks = 12});
  const auto withLanes = [&] {
    std::vector<int> ranks;
    for (const auto& box : view_->controller()->layout().ranks()) {
      ranks.push_back(box.rank);
    }
    return ranks;
  };
  EXPECT_TRUE(withLanes().empty());
  QTest::mouseClick(surface(), Qt::LeftButton, {}, at(first(EventKind::kForward, 20, 7)));
  EXPECT_EQ(withLanes(), std::vector<int>{7});
  trigger("P");
  state_.showRanks({3});
  EXPECT_EQ(withLanes(), (std::vector<int>{7, 3}));
  const QPoint onRank3 = at(first(EventKind::kForward, 20, 3));
  EXPECT_TRUE(menu(onRank3).contains("Pin rank 3"));
  menu(onRank3, "Show all ranks");
  EXPECT_EQ(withLanes(), std::vector<int>{7});
  menu(at(first(EventKind::kForward, 20, 7)), "Let go of rank 7");
  EXPECT_TRUE(withLanes().empty());
  trigger("U");
  EXPECT_TRUE(withLanes().empty()) << "none is known to be unlike the rest";
  trigger("Shift+P");
  EXPECT_EQ(withLanes().size(), 12u);
  menu(at(first(EventKind::kForward, 20, 0)), "Fold the ranks to lines");
  EXPECT_TRUE(withLanes().empty());
  menu(at(first(EventKind::kForward, 20, 0)), "List all ranks");
  EXPECT_EQ(withLanes().size(), 12u);
}

TEST_P(TimelineInteraction, TheColouringIsChosenByTheBoxAndByC) {
  open();
  auto* box = view_->findChild<QComboBox*>("colourBy");
  ASSERT_NE(box, nullptr);
  box->setFocus();
  QTest::keyClick(box, Qt::Key_Down);
  EXPECT_EQ(state_.colourBy(), ColourBy::kBucket);
  trigger("C");
  EXPECT_EQ(state_.colourBy(), ColourBy::kHook);
  EXPECT_EQ(box->currentText(), "Colour by hook");
  trigger("C");
  trigger("C");
  EXPECT_EQ(state_.colourBy(), ColourBy::kPhase);
}

TEST_P(TimelineInteraction, CtrlAndDragSetTheFilterThatEscLifts) {
  open();
  drag({400, 200}, {600, 205}, Qt::ControlModifier);
  ASSERT_TRUE(state_.filter().has_value());
  EXPECT_NEAR(state_.filter()->startNs, view_->axis().toNs(400), view_->axis().nsPerPixel());
  EXPECT_NEAR(state_.filter()->endNs, view_->axis().toNs(600), view_->axis().nsPerPixel());
  EXPECT_FALSE(view_->controller()->measured().has_value()) << "it measures nothing";
  EXPECT_TRUE(says("filter: "));
  EXPECT_TRUE(view_->findChild<QLabel*>("timelineStatus")->text().startsWith("Statistics: "));
  trigger("Esc");
  EXPECT_FALSE(state_.filter().has_value());
  EXPECT_FALSE(says("filter: "));
  state_.undoStack().undo();
  EXPECT_TRUE(state_.filter().has_value());
}

TEST_P(TimelineInteraction, BookmarksAreSetByBAndGoneTo) {
  open();
  const double middle = (state_.range().startNs + state_.range().endNs) / 2;
  trigger("B");
  ASSERT_EQ(view_->annotations().marks().size(), 1u);
  EXPECT_DOUBLE_EQ(view_->annotations().marks()[0].ns, middle);
  state_.select(first(EventKind::kOptimizer, 20));
  trigger("B");
  ASSERT_EQ(view_->annotations().marks().size(), 2u) << "the selection has one of its own";
  trigger("Home");
  trigger("Ctrl+Right");
  const auto shownMiddle = [&] { return (state_.range().startNs + state_.range().endNs) / 2; };
  EXPECT_NEAR(shownMiddle(), middle, 1);
  trigger("Ctrl+Right");
  EXPECT_NEAR(shownMiddle(), state_.selection()->startNs, 1);
  trigger("Ctrl+Left");
  EXPECT_NEAR(shownMiddle(), middle, 1);
  state_.undoStack().undo();
  state_.undoStack().undo();
  state_.undoStack().undo();
  state_.undoStack().undo();
  state_.undoStack().undo();
  EXPECT_EQ(view_->annotations().marks().size(), 1u) << "on the stack of the view's own changes";
}

TEST_P(TimelineInteraction, DigitsRecallTheViewsThatAltAndDigitsStored) {
  open();
  focusWindow();
  const TimeRange stored = state_.range();
  QTest::keyClick(view_.get(), Qt::Key_3, Qt::AltModifier);
  ASSERT_EQ(view_->annotations().view(3), stored);
  trigger("Home");
  EXPECT_NE(state_.range(), stored);
  QTest::keyClick(view_.get(), Qt::Key_4);
  EXPECT_NE(state_.range(), stored) << "nothing is stored there";
  QTest::keyClick(view_.get(), Qt::Key_3);
  EXPECT_EQ(state_.range(), stored);
}

TEST_P(TimelineInteraction, ANoteIsWrittenOnASpanAndChangedByADoubleClickOnItsFlag) {
  open();
  state_.select(first(EventKind::kBackward));
  trigger("N");
  type("noteText", "why so long?");
  ASSERT_EQ(view_->annotations().marks().size(), 1u);
  const Mark note = view_->annotations().marks()[0];
  EXPECT_EQ(note.text, "why so long?");
  EXPECT_EQ(note.span, state_.selection()->id);
  EXPECT_TRUE(says("why so long?"));
  const QRectF flag = flagRect(note, view_->axis());
  QTest::mouseDClick(surface(), Qt::LeftButton, {}, flag.center().toPoint());
  type("noteText", "big embedding");
  ASSERT_EQ(view_->annotations().marks().size(), 1u);
  EXPECT_EQ(view_->annotations().marks()[0].text, "big embedding");
  QTest::mouseDClick(surface(), Qt::LeftButton, {}, flag.center().toPoint());
  auto* line = shown<QLineEdit>("noteText");
  ASSERT_NE(line, nullptr);
  line->setText("never mind");
  line->actions().front()->trigger();  // Esc
  EXPECT_EQ(view_->annotations().marks()[0].text, "big embedding");
}

TEST_P(TimelineInteraction, FindsCountsAndGoesThroughMatches) {
  open();
  trigger("/");
  auto* line = view_->findChild<QLineEdit*>("findText");
  ASSERT_TRUE(line->isVisible());
  QTest::keyClicks(line, "kind:optimizer rank:1");
  waitForSearch();
  EXPECT_EQ(view_->finder().count(), 50u);
  const auto result = [&] { return view_->findChild<QLabel*>("findResult")->text(); };
  EXPECT_EQ(result(), "50 matches");
  trigger("F3");
  EXPECT_EQ(result(), QString("%1 of 50 matches").arg(state_.selection()->step + 1));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->kind, EventKind::kOptimizer);
  EXPECT_EQ(state_.selection()->rank(), 1);
  const std::uint32_t step = state_.selection()->step;
  QTest::keyClick(line, Qt::Key_Return);
  EXPECT_EQ(state_.selection()->step, step + 1);
  EXPECT_EQ(result(), QString("%1 of 50 matches").arg(step + 2));
  state_.select(first(EventKind::kForward));
  EXPECT_EQ(result(), "50 matches") << "what is selected is none of them";
  state_.select(first(EventKind::kOptimizer, step + 1, 1));
  trigger("Shift+F3");
  EXPECT_EQ(state_.selection()->step, step);
  line->selectAll();
  QTest::keyClicks(line, ">quick");
  EXPECT_TRUE(view_->findChild<QLabel*>("findResult")->text().contains("not a duration"));
  trigger("Esc");
  EXPECT_FALSE(line->isVisible());
  EXPECT_TRUE(view_->finder().query().empty()) << "nothing stays pale";
}

TEST_P(TimelineInteraction, WhatWasLookedForGoesWithTheRun) {
  open();
  view_->find("step:20 rank:1");
  waitForSearch();
  ASSERT_GT(view_->finder().count(), 0u);
  view_->setRun({});
  EXPECT_EQ(view_->findChild<FindLine*>()->text(), "");
  EXPECT_TRUE(view_->findChild<FindLine*>()->isHidden());
  EXPECT_TRUE(view_->finder().query().empty());
  EXPECT_EQ(view_->findChild<QLabel*>("findResult")->text(), "");
}

TEST_P(TimelineInteraction, KeysCollapseAllRanksAndExpandThem) {
  open();
  const auto collapsed = [&] {
    const auto& ranks = view_->controller()->layout().ranks();
    return std::ranges::count_if(ranks, &TimelineLayout::RankBox::collapsed);
  };
  const double height = view_->controller()->layout().height();
  trigger("X");
  EXPECT_EQ(collapsed(), 2);
  EXPECT_LT(view_->controller()->layout().height(), height);
  trigger("X");
  EXPECT_EQ(collapsed(), 2) << "the key says what is, not what changes";
  trigger("Shift+X");
  EXPECT_EQ(collapsed(), 0);
  EXPECT_EQ(view_->controller()->layout().height(), height);
}

TEST_P(TimelineInteraction, ABarThatTakesALittleRoomDoesNotMakeDenseRowsHigh) {
  open();
  double dense = view_->controller()->layout().height();
  int high = 900;
  do {
    dense = std::min(dense, view_->controller()->layout().height());
    high -= 10;
    view_->resize(1200, high);
    settle();
  } while (high > 200 && view_->controller()->maximumScroll() <= 0);
  ASSERT_GT(view_->controller()->maximumScroll(), 0);
  EXPECT_LE(view_->controller()->layout().height(), dense);
}

TEST_P(TimelineInteraction, WorldAndTheHeaderOfARankStayWhileOneScrolls) {
  view_->resize(1200, 380);
  open();
  const TimelineController& timeline = *view_->controller();
  ASSERT_GT(timeline.maximumScroll(), 60);
  const TimelineLayout::RankBox rank = timeline.layout().ranks().front();
  scrollTo(rank.top - timeline.layout().world().height + 40);
  settle();
  const TimelineSight sight = timeline.sight();
  ASSERT_NE(sight.headKept, nullptr);
  EXPECT_EQ(sight.headKept->rank, rank.rank);
  EXPECT_TRUE(says("World"));
  EXPECT_TRUE(says("Rank 0"));
  // They are where they can be seen, and are hit there.
  const QPointF onHead(300, sight.headTop + 5);
  EXPECT_EQ(timeline.headerAt(onHead), rank.rank);
  EXPECT_FALSE(timeline.spanAt(onHead).has_value()) << "nothing under a header is hit";
  EXPECT_GE(sight.lanesArea().top(), sight.headTop + timeline_metrics::kRankHeader);
  const double onWorld = timeline_metrics::kRulerHeight + timeline.layout().world().rows[0].top;
  EXPECT_EQ(sight.layoutY(QPointF(300, onWorld)), timeline.layout().world().rows[0].top);
  QTest::mouseClick(surface(), Qt::LeftButton, {}, onHead.toPoint());
  EXPECT_TRUE(timeline.layout().ranks().front().collapsed);
}

TEST_P(TimelineInteraction, WhatIsGoneToIsNotHiddenByWhatStays) {
  view_->resize(1200, 380);
  open();
  const TimelineController& timeline = *view_->controller();
  scrollTo(timeline.maximumScroll());
  const Span span = first(EventKind::kForward);
  view_->reveal(span);
  const auto rect = timeline.sight().rectOf(span);
  ASSERT_TRUE(rect.has_value());
  EXPECT_GE(rect->top(), timeline.sight().lanesArea().top());
}

TEST_P(TimelineInteraction, WhatIsSearchedForStandsOutFromAllElse) {
  open();
  QColor veil = Palette::of(Theme::kLight).background;
  veil.setAlphaF(0.7f);
  const auto pale = [&] {
    const DisplayList list = frame();
    return std::count_if(list.commands().begin(), list.commands().end(), [&](const auto& command) {
      return command.op == Op::kFill && command.colour == veil.rgba();
    });
  };
  EXPECT_EQ(pale(), 0);
  view_->find("kind:forward");
  waitForSearch();
  EXPECT_GT(pale(), 10);
}

TEST_P(TimelineInteraction, SpaceMakesALiveViewStandStillUntilItGoesOn) {
  test::DemoOptions options;
  options.state = trace::RunState::kRunning;
  trace::RunUpdate run = test::demoRun(options);
  trace::RunUpdate rest;
  rest.spans.assign(run.spans.begin() + static_cast<long>(run.spans.size() / 2), run.spans.end());
  run.spans.resize(run.spans.size() / 2);
  model_.applyUpdate(run);
  view_->setRun({&model_, &state_});
  trigger("L");
  const TimeRange before = state_.range();
  trigger("Space");
  EXPECT_TRUE(view_->isFrozen());
  EXPECT_TRUE(view_->findChild<QLabel*>("timelineStatus")->text().contains("Stands still"));
  int news = 0;
  QObject::connect(&model_, &RunModel::changed, view_.get(), [&] { ++news; });
  model_.applyUpdate(rest);
  ASSERT_TRUE(QTest::qWaitFor([&] { return news > 0; }));
  EXPECT_EQ(state_.range(), before);
  trigger("Space");
  EXPECT_TRUE(state_.followsLive()) << "as before it stood still";
  EXPECT_GT(state_.range().endNs, before.endNs);
}

TEST_P(TimelineInteraction, AltAndWheelMakeRowsHigherOrLower) {
  open();
  const double before = view_->controller()->layout().height();
  const TimeRange range = state_.range();
  wheel({700, 200}, 3, Qt::AltModifier);
  EXPECT_GT(view_->controller()->layout().height(), before * 1.2);
  EXPECT_EQ(state_.range(), range);
  wheel({700, 200}, -3, Qt::AltModifier);
  EXPECT_NEAR(view_->controller()->layout().height(), before, before * 0.05);
}

TEST_P(TimelineInteraction, AltAndArrowsGoThroughWhatWasSeen) {
  open();
  const TimeRange start = state_.range();
  trigger("PgDown");
  trigger("End");
  const TimeRange end = state_.range();
  trigger("Alt+Left");
  trigger("Alt+Left");
  EXPECT_EQ(state_.range(), start);
  trigger("Alt+Right");
  trigger("Alt+Right");
  EXPECT_EQ(state_.range(), end);
}

TEST_P(TimelineInteraction, TheRightButtonOpensAMenuAboutWhatLiesUnderIt) {
  open();
  const Span span = first(EventKind::kCollective);
  TimeRange exported;
  QObject::connect(view_.get(), &TimelineView::exportRangeRequested, &state_,
                   [&](TimeRange range) { exported = range; });
  const QStringList texts = menu(at(span), "Find all");
  EXPECT_TRUE(texts.contains("Copy as JSON"));
  EXPECT_TRUE(texts.contains("Zoom to this span"));
  EXPECT_EQ(view_->findChild<FindLine*>()->text(), "name:allreduce bucket:0");
  trigger("Esc");

  menu(at(span), "Show rank 0 alone");
  EXPECT_EQ(view_->controller()->layout().ranks().size(), 1u);
  menu(at(span), "Show all ranks");
  EXPECT_EQ(view_->controller()->layout().ranks().size(), 2u);

  menu(at(span), "Copy as JSON");
  EXPECT_TRUE(QGuiApplication::clipboard()->text().contains("\"allreduce"));
  menu(at(span), "Export");
  EXPECT_EQ(exported, state_.range());
  menu(at(span), "Filter statistics");
  EXPECT_EQ(state_.filter(), state_.range());
  menu({700, 200}, "Bookmark here");
  EXPECT_EQ(view_->annotations().marks().size(), 1u);
  menu(at(span), "Zoom to this span");
  EXPECT_NEAR(state_.range().lengthNs(), span.durationNs * 1.5, span.durationNs * 0.01);
}

TEST_P(TimelineInteraction, NotesStandBesideTheRunAndComeBackWithIt) {
  const support::TemporaryFolder folder;
  const auto path = folder / "noted.lockstep";
  ASSERT_TRUE(test::writeDemoRun(path).ok());
  const auto show = [&](RunModel& model) {
    view_->setRun({&model, &state_, nullptr});
    ASSERT_TRUE(QTest::qWaitFor([&] { return model.isLoaded(); }, 20'000));
  };
  {
    RunModel model(path);
    show(model);
    trigger("B");
    view_->setRun({});
    EXPECT_TRUE(view_->annotations().empty());
    state_.reset();
  }
  RunModel model(path);
  show(model);
  EXPECT_EQ(view_->annotations().marks().size(), 1u);
  view_->setRun({});
}

INSTANTIATE_TEST_SUITE_P(Renderers, TimelineInteraction, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui

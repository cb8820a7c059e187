#include "ui/stage/RunView.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <memory>

#include "tests/ui/views/EmptySentence.h"

namespace lockstep::ui {
namespace {

// The smallest view: what it is told, it counts.
class CountingView : public RunView {
 public:
  CountingView() {
    page = new QWidget;
    other = new QLabel(QStringLiteral("Another page"));
    makeCanvas(QStringLiteral("Counts"), page);
    setPages(QStringLiteral("No run is open."), QStringLiteral("Run the demo"), Offer::kDemo,
             {page, other});
    action = makeAction(QStringLiteral("Count"), {Qt::Key_C}, [this] { ++counted; });
  }

  using RunView::refreshIn;
  using RunView::refreshSoon;
  using RunView::showPage;

  QWidget* page;
  QWidget* other;
  QAction* action;
  bool ready = true;
  int runs = 0;
  int refreshed = 0;
  int news = 0;
  int counted = 0;
  int hasActed = 0;

 private:
  void runChanged() override {
    ++runs;
    if (model_ != nullptr) {
      connect(model_, &RunModel::infoChanged, this, [this] { ++news; });
    }
  }
  void refresh() override { ++refreshed; }
  [[nodiscard]] bool takesKeys() const override { return ready; }
  void acted() override { ++hasActed; }
  void paintCanvas(DisplayList& list, QSizeF size) override {
    list.fill(QRectF(QPointF(0, 0), size), colours().background);
  }
};

class RunViewTest : public testing::Test {
 protected:
  void SetUp() override {
    view_.resize(300, 200);
    view_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&view_));
  }
  OpenRun open() { return {model_.get(), state_.get(), nullptr}; }

  std::unique_ptr<RunModel> model_ = std::make_unique<RunModel>();
  std::unique_ptr<ViewState> state_ = std::make_unique<ViewState>();
  CountingView view_;
};

TEST_F(RunViewTest, WithoutARunItSaysHowToGetOne) {
  QSignalSpy wanted(&view_, &RunView::demoRequested);
  EXPECT_TRUE(test::says(view_, "No run is open."));
  test::pressTheButtonOf(view_);
  EXPECT_EQ(wanted.size(), 1);
  view_.setRun(open());
  EXPECT_FALSE(test::says(view_, "No run is open."));
  EXPECT_TRUE(view_.page->isVisible());
  view_.showPage(view_.other);
  EXPECT_TRUE(test::says(view_, "Another page"));
  view_.setRun({});
  EXPECT_TRUE(test::says(view_, "No run is open."));
  view_.showPage(view_.other);
  EXPECT_TRUE(test::says(view_, "No run is open.")) << "there is no run to show a page of";
}

TEST_F(RunViewTest, LetsGoOfARunThatIsDestroyed) {
  view_.setRun(open());
  EXPECT_EQ(view_.runs, 1);
  model_.reset();
  EXPECT_EQ(view_.runs, 2);
  EXPECT_TRUE(test::says(view_, "No run is open."));
  model_ = std::make_unique<RunModel>();
  view_.setRun(open());
  state_.reset();
  EXPECT_TRUE(test::says(view_, "No run is open."));
}

TEST_F(RunViewTest, WhatItFollowsOfARunEndsWithTheRun) {
  view_.setRun(open());
  emit model_->infoChanged();
  EXPECT_EQ(view_.news, 1);
  RunModel another;
  view_.setRun({&another, state_.get(), nullptr});
  emit model_->infoChanged();
  EXPECT_EQ(view_.news, 1);
  emit another.infoChanged();
  EXPECT_EQ(view_.news, 2);
  view_.setRun({});
}

TEST_F(RunViewTest, RefreshesAsOftenAsItIsAllowedAndOnlyInSight) {
  view_.setRun(open());
  const int before = view_.refreshed;
  for (int i = 0; i < 100; ++i) {
    view_.refreshSoon(50);
  }
  EXPECT_LE(view_.refreshed, before + 1);
  EXPECT_TRUE(QTest::qWaitFor([&] { return view_.refreshed > before; }));
  view_.hide();
  const int hidden = view_.refreshed;
  view_.refreshSoon(0);
  view_.refreshIn(1);
  QTest::qWait(20);
  EXPECT_EQ(view_.refreshed, hidden);
  view_.show();
  EXPECT_TRUE(QTest::qWaitFor([&] { return view_.refreshed > hidden; }))
      << "what came meanwhile is taken when it is shown";
}

TEST_F(RunViewTest, AKeyActsWhereThereIsSomethingToActOn) {
  EXPECT_EQ(view_.viewActions(), QList<QAction*>{view_.action});
  view_.action->trigger();
  EXPECT_EQ(view_.counted, 1);
  EXPECT_EQ(view_.hasActed, 1);
  view_.ready = false;
  view_.action->trigger();
  EXPECT_EQ(view_.counted, 1);
}

TEST_F(RunViewTest, TheHolderOfTheCanvasHasTheKeys) {
  EXPECT_EQ(view_.canvas()->focusProxy(), view_.page);
  EXPECT_EQ(view_.page->actions(), QList<QAction*>{view_.action});
  EXPECT_EQ(view_.action->shortcut(), QKeySequence(Qt::Key_C));
  EXPECT_EQ(view_.action->shortcutContext(), Qt::WidgetWithChildrenShortcut);
}

}  // namespace
}  // namespace lockstep::ui

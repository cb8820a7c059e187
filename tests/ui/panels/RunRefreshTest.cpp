#include "engine/trace/Event.h"
#include "ui/panels/RunRefresh.h"

#include <gtest/gtest.h>

#include <QDockWidget>
#include <QMainWindow>

#include "tests/ui/model/Feed.h"
#include "tests/ui/shell/Screen.h"

namespace lockstep::ui {
namespace {

using tests::waitUntil;
using trace::EventKind;

TEST(RunRefreshTest, APanelBehindATabWorksWhenItsTabIsChosenAndNotBefore) {
  QMainWindow window;
  window.setCentralWidget(new QWidget);
  auto* front = new QDockWidget(QStringLiteral("front"));
  auto* back = new QDockWidget(QStringLiteral("back"));
  front->setWidget(new QWidget);
  auto* panel = new QWidget;
  back->setWidget(panel);
  window.addDockWidget(Qt::BottomDockWidgetArea, front);
  window.addDockWidget(Qt::BottomDockWidgetArea, back);
  window.tabifyDockWidget(front, back);
  for (QDockWidget* dock : {front, back}) {
    dock->widget()->setMinimumSize(100, 100);
  }
  window.resize(600, 400);
  RunModel model;
  ViewState state;
  RunRefresh refresh(*panel, 1);
  int works = 0;
  bool leaves = false;
  QObject::connect(&refresh, &RunRefresh::due, panel, [&] {
    ++works;
    if (!leaves) {
      refresh.worked(0);
    }
  });
  window.show();
  front->raise();
  ASSERT_TRUE(waitUntil([&] { return !front->widget()->visibleRegion().isEmpty(); }));
  works = 0;

  test::Feed feed;
  refresh.setRun(&model, &state);
  model.applyUpdate(feed.span(1, EventKind::kForward, 0, 400).take());
  bool told = false;
  QObject::connect(&model, &RunModel::changed, panel, [&] { told = true; });
  ASSERT_TRUE(waitUntil([&] { return told; }));
  EXPECT_EQ(works, 0);
  EXPECT_TRUE(refresh.waiting());

  back->raise();
  EXPECT_TRUE(waitUntil([&] { return works > 0; }));
  EXPECT_TRUE(waitUntil([&] { return !refresh.waiting(); }));

  // Work that was left behind the other tab holds back none for the next run.
  leaves = true;
  refresh.ask();
  ASSERT_TRUE(refresh.waiting());
  front->raise();
  ASSERT_TRUE(waitUntil([&] { return panel->visibleRegion().isEmpty(); }));
  works = 0;
  refresh.setRun(&model, &state);
  EXPECT_EQ(works, 0);
  back->raise();
  EXPECT_TRUE(waitUntil([&] { return works > 0; }));
}

}  // namespace
}  // namespace lockstep::ui

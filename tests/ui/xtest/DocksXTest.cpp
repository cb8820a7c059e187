#include <QApplication>
#include <QDockWidget>
#include <QLineEdit>
#include <QStyle>
#include <QStyleOptionDockWidget>
#include <QTabBar>
#include <QTableView>

#include "engine/trace/Event.h"
#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/canvas/Palette.h"
#include "ui/shell/Stages.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep {
namespace {

using namespace tests;

// Panels around a canvas, moved as people move them. The canvas goes on drawing throughout.
class DocksXTest : public ViewsFixture {
 protected:
  void openTimeline() {
    openDemo();
    showStage("timeline");
    ASSERT_TRUE(window().session()->showStep(20));
    inspector()->show();
    ASSERT_TRUE(waitUntil([this] { return inspector()->isVisible(); }));
    ASSERT_TRUE(draws());
  }
  QDockWidget* inspector() { return find<QDockWidget>("inspectorDock"); }
  // Where a panel is gripped.
  static Place titleOf(QDockWidget* dock) {
    return [dock] {
      QStyleOptionDockWidget option;
      option.initFrom(dock);
      option.rect = QRect(0, 0, dock->width(), dock->widget()->y());
      return std::optional(QPointF(30, option.rect.height() / 2.0));
    };
  }
  static QWidget* closeButton(QDockWidget* dock) {
    return dock->findChild<QWidget*>("qt_dockwidget_closebutton");
  }
  // Whether the canvas paints, and its bars reach the screen.
  bool draws() {
    auto& timeline = view<ui::TimelineView>();
    int frames = 0;
    const auto counting =
        QObject::connect(&timeline, &ui::TimelineView::framePainted, [&] { ++frames; });
    timeline.canvas()->repaintSoon();
    const bool painted = waitUntil([&] { return frames > 0; });
    QObject::disconnect(counting);
    const auto theme = appearance_->theme();
    const std::uint32_t forward = ui::Palette::of(theme).tone(ui::Tone::kForward).rgb() & 0xFFFFFF;
    return painted && waitUntil([&] { return countPixels(input_.screenshot(), forward) > 500; });
  }
  // The tab of a panel beside others at its place.
  std::pair<QTabBar*, int> tabOf(const QString& title) {
    for (auto* bar : window().findChildren<QTabBar*>()) {
      for (int i = 0; bar->isVisible() && bar->parent() == &window() && i < bar->count(); ++i) {
        if (bar->tabText(i) == title) return {bar, i};
      }
    }
    return {nullptr, -1};
  }
};

TEST_P(DocksXTest, APanelFloatsAtADoubleClickAndComesBack) {
  openTimeline();
  doubleClickAt(inspector(), titleOf(inspector()));
  ASSERT_TRUE(waitUntil([this] { return inspector()->isFloating() && inspector()->isVisible(); }));
  ASSERT_TRUE(draws());
  keep(input_.screenshot(), QString("floating-") + GetParam());
  doubleClickAt(inspector(), titleOf(inspector()));
  ASSERT_TRUE(waitUntil([this] { return !inspector()->isFloating(); }));
  EXPECT_EQ(window().dockWidgetArea(inspector()), Qt::RightDockWidgetArea);
  EXPECT_TRUE(draws());
}

TEST_P(DocksXTest, APanelIsDraggedOutAndOverTheCanvas) {
  openTimeline();
  const ui::Span span = spanOf(trace::EventKind::kForward, 20, 0);
  dragAt(inspector(), titleOf(inspector()), {-150, 90});
  ASSERT_TRUE(waitUntil([this] { return inspector()->isFloating() && inspector()->isVisible(); }));
  EXPECT_TRUE(draws());
  clickAt(&view<ui::TimelineView>(), [&] { return view<ui::TimelineView>().positionOf(span); });
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->id == span.id; }))
      << "the canvas takes the pointer where the panel leaves it";
  EXPECT_TRUE(waitUntil([this] { return !inspector()->visibleRegion().isEmpty(); }));
}

TEST_P(DocksXTest, APanelIsClosedAndOpenedAgainInTheMenu) {
  openTimeline();
  const int width = view<ui::TimelineView>().canvas()->width();
  click(closeButton(inspector()));
  ASSERT_TRUE(waitUntil([this] { return !inspector()->isVisible(); }));
  ASSERT_TRUE(waitUntil([&] { return view<ui::TimelineView>().canvas()->width() > width; }));
  ASSERT_TRUE(draws());
  chooseFromMenuBar({"View", "Panels", "Inspector"});
  ASSERT_TRUE(waitUntil([this] { return inspector()->isVisible(); }));
  EXPECT_TRUE(waitUntil([&] { return view<ui::TimelineView>().canvas()->width() == width; }));
  EXPECT_TRUE(draws());
}

TEST_P(DocksXTest, PanelsThatShareAPlaceTakeTurnsByTheirTabs) {
  openTimeline();
  auto* runs = find<QTableView>("runsTable");
  ASSERT_TRUE(waitUntil([&] { return !runs->visibleRegion().isEmpty(); }));
  ASSERT_TRUE(waitUntil([&] { return tabOf("Hooks").first != nullptr; }));
  const auto [bar, hooks] = tabOf("Hooks");
  clickTab(bar, hooks);
  auto* found = find<QWidget>("hookManager");
  ASSERT_TRUE(waitUntil([&] { return !found->visibleRegion().isEmpty(); }));
  EXPECT_TRUE(runs->visibleRegion().isEmpty());
  EXPECT_TRUE(draws());
  clickTab(bar, tabOf("Runs").second);
  EXPECT_TRUE(waitUntil([&] { return !runs->visibleRegion().isEmpty(); }));
  EXPECT_TRUE(draws());
}

TEST_P(DocksXTest, WhoComesToSetupByItsTabTypesIntoItsFilter) {
  openTimeline();
  const QString title = find<QDockWidget>("setupDock")->windowTitle();
  ASSERT_TRUE(waitUntil([&] { return tabOf(title).first != nullptr; }));
  const auto [bar, setup] = tabOf(title);
  clickTab(bar, setup);
  auto* filter = find<QLineEdit>("setupSearch");
  EXPECT_TRUE(waitUntil([&] { return filter->hasFocus(); }));
}

TEST_P(DocksXTest, EveryStageGoesOnDrawingWhilePanelsComeAndGo) {
  openTimeline();
  auto* stages = find<ui::Stages>("stages");
  for (const QString& name : stages->names()) {
    showStage(name);
    if (HasFatalFailure()) return;
    click(closeButton(inspector()));
    ASSERT_TRUE(waitUntil([this] { return !inspector()->isVisible(); })) << name.toStdString();
    inspector()->toggleViewAction()->trigger();
    ASSERT_TRUE(waitUntil([this] { return inspector()->isVisible(); })) << name.toStdString();
    const Screenshot shot = input_.screenshot();
    keep(shot, "stage-" + name + '-' + GetParam());
  }
  showStage("timeline");
  EXPECT_TRUE(draws());
}

TEST_P(DocksXTest, TheWindowFitsAScreenOf1280By800OnEveryStage) {
  openTimeline();
  for (const QString& name : find<ui::Stages>("stages")->names()) {
    showStage(name);
    if (HasFatalFailure()) return;
    EXPECT_LE(window().minimumSizeHint().width(), kScreenWidth) << name.toStdString();
    EXPECT_LE(window().minimumSizeHint().height(), kScreenHeight) << name.toStdString();
    const QPoint corner = inspector()->mapToGlobal(inspector()->rect().bottomRight());
    EXPECT_LT(corner.x(), kScreenWidth) << "the Inspector beside " << name.toStdString();
  }
}

LOCKSTEP_ON_BOTH_PAINTERS(DocksXTest);

}  // namespace
}  // namespace lockstep

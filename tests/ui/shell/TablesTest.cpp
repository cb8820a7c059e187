#include <QAction>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

#include "tests/ui/shell/MainWindowFixture.h"
#include "ui/panels/events/EventsPanel.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::tests {
namespace {

// The tables of events and of statistics, in the window.
class TablesTest : public MainWindowFixture {
 protected:
  void open(const char* dock) {
    window().openRun(finishedRun());
    ASSERT_TRUE(waitForState(trace::RunState::kFinished));
    auto* widget = find<QDockWidget>(dock);
    widget->show();
    widget->raise();
    ASSERT_TRUE(waitUntil([&] { return widget->widget()->isVisible(); }));
  }

  // Waits until a table has rows, and returns the place of one on the screen.
  QPoint rowOf(QTableView* table, int row) {
    EXPECT_TRUE(waitUntil([&] { return table->isVisible() && table->model()->rowCount() > row; }));
    return middleOf(table->viewport(),
                    [&] { return table->visualRect(table->model()->index(row, 0)); });
  }
};

TEST_F(TablesTest, AClickOnAnEventSelectsItInTheTimelineAndADoubleClickGoesThere) {
  open("eventsDock");
  auto* table = find<QTableView>("eventsTable");
  const QPoint at = rowOf(table, 0);
  input_.click(at.x(), at.y());
  ui::ViewState& state = *window().session()->state();
  ASSERT_TRUE(waitUntil([&] { return state.selection().has_value(); }));
  const ui::Span span = *state.selection();
  EXPECT_TRUE(waitUntil(
      [&] { return window().findChild<ui::TimelineView*>()->positionOf(span).has_value(); }));
  doubleClick(at);
  EXPECT_TRUE(waitUntil([&] {
    return state.range().lengthNs() < 10 * std::max(span.durationNs, 20'000.0) &&
           state.range().startNs < span.startNs && state.range().endNs > span.endNs();
  }));
  keep(input_.screenshot(), "events");
}

TEST_F(TablesTest, ARowOfTheStatisticsListsItsEvents) {
  open("statisticsDock");
  auto* table = find<QTableView>("statisticsTable");
  const QPoint at = rowOf(table, 0);
  const QString name = table->model()->index(0, 0).data().toString();
  input_.click(at.x(), at.y());
  auto* button = find<QPushButton>("statisticsEvents");
  ASSERT_TRUE(waitUntil([&] { return button->isEnabled(); }));
  click(button);
  auto* filter = find<QLineEdit>("eventsFilter");
  ASSERT_TRUE(waitUntil([&] { return filter->isVisible() && filter->text().contains(name); }))
      << filter->text().toStdString();
  auto* events = window().findChild<ui::EventsPanel*>();
  ASSERT_TRUE(waitUntil([&] { return !events->busy(); }));
  EXPECT_EQ(QString::number(events->model().total()),
            table->model()->index(0, 1).data().toString());
  keep(input_.screenshot(), "statistics");
}

TEST_F(TablesTest, AnalyseShowsBothTablesAndTheOtherLayoutsDoNot) {
  open("eventsDock");
  const auto choose = [&](const char* layout) {
    for (QAction* action : window().findChildren<QAction*>()) {
      if (action->objectName() == QStringLiteral("layout.") + layout) action->trigger();
    }
  };
  const auto shown = [&](const char* dock) { return !find<QDockWidget>(dock)->isHidden(); };
  choose("live");
  EXPECT_TRUE(waitUntil([&] { return !shown("eventsDock") && !shown("statisticsDock"); }));
  EXPECT_TRUE(shown("logDock"));
  choose("analyse");
  EXPECT_TRUE(waitUntil([&] { return shown("eventsDock") && shown("statisticsDock"); }));
}

}  // namespace
}  // namespace lockstep::tests

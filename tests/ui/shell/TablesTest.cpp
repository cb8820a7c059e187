#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QToolButton>

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

TEST_F(TablesTest, CtrlFFiltersThePanelThatHasTheFocusAndFindsOnTheTimelineFromAnyView) {
  open("eventsDock");
  rowOf(find<QTableView>("eventsTable"), 0);
  find<QTableView>("eventsTable")->setFocus();
  input_.key('f', {kKeyControl});
  EXPECT_TRUE(waitUntil([&] { return find<QLineEdit>("eventsFilter")->hasFocus(); }));
  auto* line = find<QLineEdit>("findText");
  EXPECT_FALSE(line->isVisible());
  for (const char* view : {"view.overlap", "view.whatif", "view.timeline"}) {
    find<QAction>(view)->trigger();
    input_.key('f', {kKeyControl});
    EXPECT_TRUE(waitUntil([&] { return line->hasFocus(); })) << view;
    EXPECT_TRUE(window().findChild<ui::TimelineView*>()->isVisible()) << view;
    input_.key(kKeyEscape);
    EXPECT_TRUE(waitUntil([&] { return !line->isVisible(); })) << view;
  }
  EXPECT_EQ(find<QAction>("find")->text().remove('&'), "Find on the timeline, or filter the panel");
}

TEST_F(TablesTest, TheDocksBelowAreClosedUntilTheirButtonsArePressed) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(trace::RunState::kFinished));
  auto* log = find<QDockWidget>("logDock");
  auto* events = find<QDockWidget>("eventsDock");
  auto* button = find<QToolButton>("eventsDockButton");
  EXPECT_FALSE(log->isVisible() || events->isVisible());
  click(find<QToolButton>("logDockButton"));
  ASSERT_TRUE(waitUntil([&] { return log->widget()->isVisible(); }));
  click(button);
  ASSERT_TRUE(waitUntil([&] { return events->widget()->isVisible() && button->isChecked(); }));
  EXPECT_FALSE(find<QToolButton>("logDockButton")->isChecked()) << "the events are in front of it";
  click(button);
  EXPECT_TRUE(waitUntil([&] { return !log->isVisible() && !events->isVisible(); }));
  EXPECT_FALSE(button->isChecked());
}

TEST_F(TablesTest, TheInspectorOpensWithASelectionUntilItIsClosedByHand) {
  open("eventsDock");
  auto* inspector = find<QDockWidget>("inspectorDock");
  const auto select = [&](int row) {
    const QPoint at = rowOf(find<QTableView>("eventsTable"), row);
    input_.click(at.x(), at.y());
  };
  EXPECT_FALSE(inspector->isVisible());
  select(0);
  ASSERT_TRUE(waitUntil([&] { return inspector->isVisible(); }));
  click(inspector->findChild<QWidget*>("qt_dockwidget_closebutton"));
  ASSERT_TRUE(waitUntil([&] { return !inspector->isVisible(); }));
  const ui::ViewState& state = *window().session()->state();
  const ui::Span before = *state.selection();
  select(1);
  ASSERT_TRUE(waitUntil([&] { return !state.selection()->sameAs(before); }));
  EXPECT_FALSE(ui::Settings().inspectorOpens());
  EXPECT_FALSE(inspector->isVisible()) << "closed by hand";
  inspector->toggleViewAction()->trigger();
  EXPECT_TRUE(inspector->isVisible());
  EXPECT_TRUE(ui::Settings().inspectorOpens()) << "opened by hand";
}

// Of the run before, all tables have a row that is marked, and a range is filtered.
TEST_F(TablesTest, NothingOfTheRunBeforeStaysInTheDocks) {
  const QStringList tables{"eventsTable", "statisticsTable", "problemsTable", "logLines"};
  const std::initializer_list<const char*> filters{"eventsFilter", "statisticsFilter", "logText"};
  const auto table = [&](const QString& name) {
    return window().findChild<QTableView*>(name)->model();
  };
  const auto use = [&](const QString& path) {
    window().openRun(path);
    ASSERT_TRUE(waitForState(trace::RunState::kFailed));
    ui::ViewState& state = *window().session()->state();
    const auto step = window().session()->model()->step(0, 3);
    state.setFilter(ui::TimeRange{step->startNs, step->endNs});
    for (const char* name : {"eventsDock", "statisticsDock", "problemsDock", "logDock"}) {
      auto* dock = find<QDockWidget>(name);
      dock->show();
      dock->raise();
      auto* view = dock->findChild<QTableView*>();
      ASSERT_TRUE(waitUntil([&] { return view->model()->rowCount() > 0; })) << name;
      view->selectRow(0);
      ASSERT_TRUE(view->selectionModel()->hasSelection());
    }
    ASSERT_TRUE(state.selection().has_value());
    ASSERT_TRUE(waitUntil([&] { return find<QLabel>("inspectorTitle")->isVisible(); }));
    ASSERT_FALSE(find<QWidget>("eventsRange")->isHidden());
    ASSERT_EQ(find<QDockWidget>("problemsDock")->windowTitle(), "Problems (1)");
    ASSERT_EQ(find<QLabel>("iterationTotal")->text(), "/ 40");
    for (const char* name : filters) {
      find<QLineEdit>(name)->setText("step:3");
    }
  };
  const auto nothingIsLeft = [&] {
    for (const char* name : filters) {
      EXPECT_EQ(find<QLineEdit>(name)->text(), "") << name;
    }
    for (const QString& name : tables) {
      EXPECT_EQ(table(name)->rowCount(), 0) << name.toStdString();
    }
    EXPECT_FALSE(find<QLabel>("inspectorTitle")->isVisible());
    EXPECT_TRUE(find<QWidget>("eventsRange")->isHidden());
    EXPECT_TRUE(find<QWidget>("statisticsRange")->isHidden());
    EXPECT_EQ(find<QDockWidget>("problemsDock")->windowTitle(), "Problems");
    EXPECT_EQ(find<QLabel>("iterationTotal")->text(), "/ –");
  };
  std::filesystem::create_directories(folder_ / "runs");
  const auto path = folder_ / "runs" / "first.lockstep";
  SampleRun run(path, 40, "first");
  run.startUp();
  run.steps(40);
  run.log(0, "a line");
  run.problem({.severity = "error", .rank = 0, .step = 3, .text = "a problem"});
  run.finish(trace::RunState::kFailed, "a reason");
  const QString first = QString::fromStdString(path.string());

  use(first);
  window().openRun(finishedRun());
  nothingIsLeft();
  use(first);
  window().runExperiment(
      QString::fromStdString((folder_ / "experiments/first_steps/demo.toml").string()));
  nothingIsLeft();
  EXPECT_TRUE(waitForState(trace::RunState::kFinished));
}

}  // namespace
}  // namespace lockstep::tests

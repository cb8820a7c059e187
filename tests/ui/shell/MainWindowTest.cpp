#include "engine/trace/Event.h"
#include "tests/ui/shell/MainWindowFixture.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDockWidget>
#include <QDropEvent>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>
#include <QUrl>

#include "ui/panels/runs/RunsPanel.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep {
namespace {

using tests::waitUntil;
using trace::RunState;

// The window around a run: panels, boxes, keys, theme, files.
class MainWindowTest : public tests::MainWindowFixture {};

TEST_F(MainWindowTest, SaysOnceAboveAllViewsWhatTheRunFileDoesNotHold) {
  trace::RunInfo info;
  info.runId = "outliers";
  info.name = "outliers";
  info.worldSize = tests::SampleRun::kRanks;
  info.environment[trace::kLeftOut] = "of 9,000 of 10,000 steps there are sums alone";
  window().openRun(runThatSays(info));
  EXPECT_TRUE(waitUntil([this] {
    return messages().join(' ').contains(
        "The run file does not hold all events: of 9,000 of 10,000 steps there are sums alone. "
        "Figures of steps are of all; what is said of buckets, waiting and causes is of the steps "
        "that are there.");
  }));
}

TEST_F(MainWindowTest, ClickOnABarFillsTheInspectorAndItsFactsCanBeCopied) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  ui::RunSession& session = *window().session();
  const auto screen = collectiveOnScreen(20, 2);
  ASSERT_TRUE(screen.has_value());
  input_.click(screen->x(), screen->y());
  auto* title = find<QLabel>("inspectorTitle");
  ASSERT_TRUE(waitUntil([&] { return session.state()->selection().has_value(); }));
  EXPECT_EQ(session.state()->selection()->bucket, 2);
  ASSERT_TRUE(waitUntil([&] { return title->isVisible(); }));
  EXPECT_TRUE(title->text().contains("allreduce")) << title->text().toStdString();

  input_.key('c', {tests::kKeyControl, tests::kKeyShift});
  ASSERT_TRUE(waitUntil([] { return QApplication::clipboard()->text().startsWith('{'); }));
  const auto json = QJsonDocument::fromJson(QApplication::clipboard()->text().toUtf8()).object();
  EXPECT_EQ(json.value("bucket").toInt(-1), 2);
  tests::keep(input_.screenshot(), "inspector");
}

TEST_F(MainWindowTest, ARunThatWasOpenedTellsTheListItsFigures) {
  window().openRun(finishedRun());
  std::optional<double> stepMs;
  QObject::connect(window().session(), &ui::RunSession::analysed, &window(),
                   [&](const ui::RunFigures& figures) { stepMs = figures.stepMs; });
  EXPECT_TRUE(waitUntil([&] { return stepMs.has_value(); }))
      << "one that is too large to be analysed for the list has no others";
}

TEST_F(MainWindowTest, IterationBoxShowsTheIterationThatIsTyped) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  auto* number = find<QLineEdit>("iterationNumber");
  ASSERT_TRUE(waitUntil([&] { return number->isEnabled(); }));
  const QPoint at = tests::middleOf(number);
  input_.click(at.x(), at.y());
  ASSERT_TRUE(waitUntil([&] { return number->hasFocus(); }));
  input_.key('a', {tests::kKeyControl});
  input_.key('3');
  input_.key('3');
  ASSERT_TRUE(waitUntil([&] { return number->text() == "33"; })) << number->text().toStdString();
  input_.key(tests::kKeyReturn);
  const auto step = window().session()->model()->step(0, 33);
  ASSERT_TRUE(step.has_value());
  const ui::ViewState& state = *window().session()->state();
  EXPECT_TRUE(waitUntil([&] {
    return state.iteration() == std::optional<std::uint32_t>(33) &&
           state.range().startNs <= step->startNs && state.range().endNs >= step->endNs;
  })) << "at "
      << state.iteration().value_or(0) << ", from " << state.range().startNs << " to "
      << state.range().endNs << ", wanted " << step->startNs << " to " << step->endNs;
  EXPECT_EQ(find<QLabel>("iterationTotal")->text(), "/ 40");
}

TEST_F(MainWindowTest, ThemeMenuTurnsTheWindowDarkAndTheChoiceIsRemembered) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  const auto chooseTheme = [&](const QString& name) {
    QMenuBar* bar = window().menuBar();
    QMenu* theme = nullptr;
    QAction* view = nullptr;
    for (QAction* top : bar->actions()) {
      for (QAction* entry : top->menu()->actions()) {
        if (entry->menu() != nullptr && entry->text().remove('&') == "Theme") {
          view = top;
          theme = entry->menu();
        }
      }
    }
    ASSERT_NE(theme, nullptr);
    const auto clickOn = [&](QWidget* widget, const QRect& area) {
      const QPoint at = widget->mapToGlobal(area.center());
      input_.click(at.x(), at.y());
    };
    clickOn(bar, bar->actionGeometry(view));
    ASSERT_TRUE(waitUntil([&] { return view->menu()->isVisible(); }));
    clickOn(view->menu(), view->menu()->actionGeometry(theme->menuAction()));
    ASSERT_TRUE(waitUntil([&] { return theme->isVisible(); }));
    for (QAction* choice : theme->actions()) {
      if (choice->text().remove('&') == name) clickOn(theme, theme->actionGeometry(choice));
    }
    ASSERT_TRUE(waitUntil([&] { return !theme->isVisible() && !view->menu()->isVisible(); }));
  };
  const auto dominant = [](ui::Theme theme) {
    return ui::Palette::of(theme).background.rgb() & 0xFFFFFF;
  };
  chooseTheme("Dark");
  EXPECT_TRUE(waitUntil([&] {
    return tests::countPixels(input_.screenshot(), dominant(ui::Theme::kDark)) > 100'000;
  }));
  tests::keep(input_.screenshot(), "dark");
  closeWindow();
  EXPECT_EQ(ui::Settings().theme(), ui::ThemeChoice::kDark);
  window();
  EXPECT_EQ(appearance_->theme(), ui::Theme::kDark);
  chooseTheme("Light");
  EXPECT_TRUE(waitUntil([&] {
    return tests::countPixels(input_.screenshot(), dominant(ui::Theme::kLight)) > 100'000;
  }));
}

TEST_F(MainWindowTest, IterationsAreSteppedThroughOnlyWhileARunIsOpen) {
  auto* number = find<QLineEdit>("iterationNumber");
  const auto arrows = number->parentWidget()->findChildren<QToolButton*>();
  ASSERT_EQ(arrows.size(), 2);
  EXPECT_FALSE(arrows.front()->isEnabled());
  EXPECT_FALSE(arrows.back()->isEnabled());
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  ASSERT_TRUE(window().session()->showStep(20));
  ASSERT_TRUE(waitUntil([&] { return number->text() == "20"; }));
  click(arrows.back());
  ASSERT_TRUE(waitUntil([&] { return number->text() == "21"; })) << number->text().toStdString();
  input_.key('z', {tests::kKeyControl});
  EXPECT_TRUE(waitUntil([&] { return number->text() == "20"; })) << number->text().toStdString();
}

TEST_F(MainWindowTest, TheFiguresOfARunStandInSightInTheRunsList) {
  finishedRun();
  window();
  auto* table = find<QTableView>("runsTable");
  ASSERT_TRUE(waitUntil([&] { return table->model()->rowCount() == 1 && table->isVisible(); }));
  for (const int column : {ui::RunsTable::kExposed, ui::RunsTable::kCourse}) {
    EXPECT_TRUE(waitUntil([&] {
      const QRect cell = table->visualRect(table->model()->index(0, column));
      return !cell.isEmpty() && cell.right() < table->viewport()->width();
    })) << column
        << " of a screen of 1280 pixels";
  }
}

TEST_F(MainWindowTest, ByWhatRunsAreGroupedIsRemembered) {
  auto* groups = find<QComboBox>("runsGroupBy");
  groups->setCurrentIndex(groups->findData("day"));
  Q_EMIT groups->activated(groups->currentIndex());
  closeWindow();
  groups = find<QComboBox>("runsGroupBy");
  EXPECT_EQ(groups->currentData().toString(), "day");
  ui::Settings().setRunsGroupBy("ddp.bucket_cap_mb");
  closeWindow();
  groups = find<QComboBox>("runsGroupBy");
  EXPECT_EQ(groups->currentData().toString(), "ddp.bucket_cap_mb")
      << "in which no two runs differ, since there are none";
}

TEST_F(MainWindowTest, TheStartPageTellsRecentRunsApartByTheirFigures) {
  finishedRun();
  auto* page = find<QWidget>("startPage");
  EXPECT_TRUE(waitUntil([&] {
    for (const QLabel* label : page->findChildren<QLabel*>()) {
      if (label->text().startsWith("finished, ") &&
          label->text().contains(" ms exposed per step (median, worst rank) · ")) {
        return true;
      }
    }
    return false;
  }));
}

TEST_F(MainWindowTest, TheWheelZoomsAtTheCursorDownToNanoseconds) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  ASSERT_TRUE(window().session()->showStep(20));
  auto* timeline = window().findChild<ui::TimelineView*>();
  const ui::ViewState& state = *window().session()->state();
  const QPoint at = tests::middleOf(timeline);
  const double x = timeline->canvas()->mapFromGlobal(at).x();
  const double before = timeline->axis().toNs(x);
  for (int turn = 0; turn < 12 && state.range().lengthNs() > 100; ++turn) {
    input_.wheel(at.x(), at.y(), 10);
    const double length = state.range().lengthNs();
    ASSERT_TRUE(waitUntil([&] { return state.range().lengthNs() < length; }));
  }
  ASSERT_TRUE(waitUntil([&] { return state.range().lengthNs() <= 100; }))
      << state.range().lengthNs() << " ns";
  EXPECT_NEAR(timeline->axis().toNs(x), before, 1) << "ns under the cursor";
}

TEST_F(MainWindowTest, DoubleClickInTheRunsListOpensARun) {
  const QString path = finishedRun();
  window();
  auto* table = find<QTableView>("runsTable");
  ASSERT_TRUE(waitUntil([&] { return table->model()->rowCount() == 1 && table->isVisible(); }));
  const QPoint at = tests::middleOf(table->viewport(),
                                    [&] { return table->visualRect(table->model()->index(0, 1)); });
  doubleClick(at);
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_EQ(window().session()->path(), path);
}

TEST_F(MainWindowTest, AFileDroppedOnTheWindowIsOpened) {
  const QString path = finishedRun();
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter(QPoint(600, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(600, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window(), &drop);
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_EQ(window().session()->path(), path);
}

TEST_F(MainWindowTest, AFileThatIsNoRunLeavesTheStartPageWithASentence) {
  const auto path = folder_.write("runs/notes.lockstep", "not a run");
  window().openRun(QString::fromStdString(path.string()));
  ASSERT_TRUE(waitUntil([this] { return !messages().isEmpty(); }));
  EXPECT_TRUE(messages().front().contains("notes.lockstep")) << messages().front().toStdString();
  EXPECT_TRUE(waitUntil([this] { return find<QWidget>("startPage")->isVisible(); }));
}

TEST_F(MainWindowTest, WithoutTheProgramBothRunButtonsSayWhyTheyDoNothing) {
  appearance_ = std::make_unique<ui::Appearance>();
  window_ = std::make_unique<ui::MainWindow>(
      ui::StudioPaths{.experiments = QString::fromStdString((folder_ / "experiments").string()),
                      .runs = runs(),
                      .experiment = {},
                      .programs = QString::fromStdString((folder_ / "nothing").string())},
      *appearance_);
  const QString reason = "No lockstep program in ";
  EXPECT_TRUE(find<QAction>("run")->toolTip().startsWith(reason));
  auto* run = find<QPushButton>("setupRun");
  EXPECT_FALSE(run->isEnabled());
  EXPECT_TRUE(run->toolTip().contains(reason)) << run->toolTip().toStdString();
}

TEST_F(MainWindowTest, DocksComeBackAsTheyWereLeft) {
  window().openRun(finishedRun());
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<QDockWidget>("runsDock")->hide();
  find<QDockWidget>("logDock")->show();
  closeWindow();
  window().openRun(QString::fromStdString((folder_ / "runs" / "old.lockstep").string()));
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_FALSE(find<QDockWidget>("runsDock")->isVisible());
  EXPECT_TRUE(find<QDockWidget>("logDock")->isVisible());
}

TEST_F(MainWindowTest, AnInspectorThatWasLeftOpenComesBackWithTheFirstSelection) {
  const QString run = finishedRun();
  window().openRun(run);
  ASSERT_TRUE(waitForState(RunState::kFinished));
  find<QDockWidget>("inspectorDock")->show();
  closeWindow();
  window().openRun(run);
  ASSERT_TRUE(waitForState(RunState::kFinished));
  EXPECT_FALSE(find<QDockWidget>("inspectorDock")->isVisible()) << "it would be empty";
  const auto screen = collectiveOnScreen(20, 2);
  ASSERT_TRUE(screen.has_value());
  input_.click(screen->x(), screen->y());
  EXPECT_TRUE(waitUntil([&] { return find<QDockWidget>("inspectorDock")->isVisible(); }));
}

TEST_F(MainWindowTest, TheSetupFormFitsIntoTheNarrowestPanel) {
  window().resize(1280, 800);
  auto* dock = find<QDockWidget>("setupDock");
  window().resizeDocks({find<QDockWidget>("runsDock")}, {300}, Qt::Horizontal);
  dock->raise();
  auto* form = find<QScrollArea>("setupForm");
  ASSERT_TRUE(waitUntil([&] { return form->isVisible(); }));
  EXPECT_TRUE(waitUntil([&] { return form->horizontalScrollBar()->maximum() == 0; }))
      << "its lines end beyond the panel";
  EXPECT_EQ(window().width(), 1280);
}

}  // namespace
}  // namespace lockstep

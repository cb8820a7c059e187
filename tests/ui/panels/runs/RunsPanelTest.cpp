#include "ui/panels/runs/RunsPanel.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QComboBox>
#include <QFile>
#include <QHeaderView>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/SampleRun.h"
#include "tests/ui/shell/Screen.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/runs/RunCells.h"
#include "ui/panels/runs/StateMark.h"

namespace lockstep::ui {
namespace {

using tests::waitUntil;

/// Three runs in a folder, and the panel on the screen.
class RunsPanelTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) {
      tests::writeFinishedRun(folder_ / (std::string(name) + ".lockstep"), 8);
    }
    open();
  }

  void open() {
    panel_ = std::make_unique<RunsPanel>(QString::fromStdString(folder_.path().string()));
    panel_->resize(1000, 500);
    panel_->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(panel_.get()));
    ASSERT_TRUE(waitUntil([&] {
      return panel_->runs().size() == 3 &&
             std::ranges::all_of(panel_->runs().entries(),
                                 [](const RunEntry& run) { return run.stepMs.has_value(); });
    }));
  }

  [[nodiscard]] QString path(const char* name) const {
    return QString::fromStdString((folder_ / (std::string(name) + ".lockstep")).string());
  }
  [[nodiscard]] const RunEntry& entry(const char* name) const {
    for (const RunEntry& run : panel_->runs().entries()) {
      if (run.path == path(name)) {
        return run;
      }
    }
    throw std::runtime_error(name);
  }
  void choose(std::initializer_list<const char*> names) {
    TableView* view = panel_->view();
    view->clearSelection();
    for (const char* name : names) {
      for (int line = 0; line < view->model()->rowCount(); ++line) {
        if (panel_->runs().entry(view->rowsModel().rowAt(line)).path == path(name)) {
          view->selectionModel()->select(view->model()->index(line, 0),
                                         QItemSelectionModel::Select | QItemSelectionModel::Rows);
        }
      }
    }
  }
  template <typename Widget = QLineEdit>
  Widget* part(const char* name) {
    return panel_->findChild<Widget*>(name);
  }
  void command(const char* name) {
    for (QAction* action : panel_->panelActions()) {
      if (action->objectName() == name) {
        action->trigger();
        return;
      }
    }
    FAIL() << name;
  }
  void write(const char* line, const QString& text) {
    part(line)->selectAll();
    QTest::keyClicks(part(line), text);
    QTest::keyClick(part(line), Qt::Key_Return);
  }

  support::TemporaryFolder folder_;
  std::unique_ptr<RunsPanel> panel_;
};

TEST_F(RunsPanelTest, AnEmptyFolderIsToldFromAStudioThatHasNoRunOpen) {
  const support::TemporaryFolder none;
  RunsPanel panel(QString::fromStdString(none.path().string()));
  const auto said = [&] {
    QString all;
    for (const QLabel* label : panel.findChildren<QLabel*>()) {
      all += label->text() + '\n';
    }
    return all.toStdString();
  };
  EXPECT_NE(said().find("No runs yet."), std::string::npos) << said();
  panel.setCurrentRun(path("a"));
  EXPECT_EQ(said().find("No runs yet."), std::string::npos) << said();
  EXPECT_NE(said().find("No runs in this folder."), std::string::npos) << said();
}

TEST_F(RunsPanelTest, BesideTheCourseThereIsRoomForAStepOfAFewHundredMs) {
  const TableView* view = panel_->view();
  const double cell = view->columnWidth(RunsTable::kCourse) - 2 * RunCells::kInset;
  EXPECT_GE(cell * (1 - RunCells::kCoursePart), view->fontMetrics().horizontalAdvance("000.00"));
}

TEST_F(RunsPanelTest, InTheNarrowestPanelStateFigureAndCourseAreSeen) {
  TableView* view = panel_->view();
  const auto wordFits = [view] {
    const QRect cell = view->visualRect(view->model()->index(0, RunsTable::kState));
    return view->fontMetrics().horizontalAdvance("finished") <
           cell.width() - RunCells::kMark - 2 * RunCells::kInset;
  };
  EXPECT_TRUE(wordFits());
  panel_->resize(300, 500);
  ASSERT_TRUE(waitUntil([&] { return view->viewport()->width() < 300; }));
  for (const int column :
       {RunsTable::kState, RunsTable::kName, RunsTable::kExposed, RunsTable::kCourse}) {
    const QRect cell = view->visualRect(view->model()->index(0, column));
    EXPECT_GT(cell.width(), RunCells::kMark) << column;
    EXPECT_LE(cell.right(), view->viewport()->width()) << column;
  }
  EXPECT_FALSE(wordFits()) << "the mark stands alone";
  const auto* filter = panel_->findChild<QLineEdit*>("runsFilter");
  EXPECT_LT(filter->fontMetrics().horizontalAdvance(filter->placeholderText()),
            filter->width() - 12)
      << "what one may type is read whole";
  const QModelIndex state = view->model()->index(0, RunsTable::kState);
  EXPECT_EQ(state.data().toString(), "finished") << "for a screen reader and the clipboard";
  EXPECT_TRUE(state.data(Qt::ToolTipRole).toString().startsWith("finished\n"));
  panel_->resize(1000, 500);
  EXPECT_TRUE(waitUntil(wordFits));
}

TEST(StateMarkTest, EachStateHasAShapeOfItsOwn) {
  std::vector<QImage> marks;
  for (int mark = 0; mark <= static_cast<int>(StateMark::kUnreadable); ++mark) {
    QImage image(RunCells::kMark, RunCells::kMark, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::white);
    QPainter painter(&image);
    drawStateMark(painter, image.rect(), static_cast<StateMark>(mark), Qt::black);
    painter.end();
    marks.push_back(image);
  }
  constexpr int kDark = 128;
  constexpr int kFewest = 8;  // pixels that are dark in one and not in the other
  for (std::size_t a = 0; a < marks.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      int differ = 0;
      for (int y = 0; y < RunCells::kMark; ++y) {
        for (int x = 0; x < RunCells::kMark; ++x) {
          differ += (qGray(marks[a].pixel(x, y)) < kDark) != (qGray(marks[b].pixel(x, y)) < kDark);
        }
      }
      EXPECT_GE(differ, kFewest) << a << " and " << b;
    }
  }
}

TEST(StateMarkTest, FollowsTheState) {
  RunEntry run;
  run.state = trace::RunState::kFailed;
  EXPECT_EQ(stateMarkOf(run), StateMark::kFailed);
  run.problem = "it is no run";
  EXPECT_EQ(stateMarkOf(run), StateMark::kUnreadable);
  run.unread = true;
  EXPECT_EQ(stateMarkOf(run), StateMark::kUnread);
}

TEST_F(RunsPanelTest, ARunIsRenamedAndKeepsItsNameOverAStart) {
  choose({"b"});
  command("runs.rename");
  ASSERT_TRUE(part("runName")->isVisible());
  EXPECT_EQ(part("runName")->text(), "demo");
  write("runName", "the good one");
  EXPECT_FALSE(part("runName")->isVisible());
  ASSERT_TRUE(waitUntil([&] { return entry("b").shownName() == "the good one"; }));
  EXPECT_EQ(entry("b").name, "demo") << "what was recorded stays";
  EXPECT_TRUE(QFile::exists(path("b") + ".label.json"));
  panel_.reset();
  open();
  EXPECT_EQ(entry("b").shownName(), "the good one");
  choose({"b"});
  command("runs.rename");
  part("runName")->setText("demo");  // its own name again is no other name
  part<QPushButton>("runLabelKeep")->click();
  ASSERT_TRUE(waitUntil([&] { return entry("b").label.empty(); }));
  EXPECT_FALSE(QFile::exists(path("b") + ".label.json"));
}

TEST_F(RunsPanelTest, TagsAreGivenToAllThatAreChosenAndEachKeepsItsOwn) {
  choose({"a"});
  command("runs.tag");
  write("runTags", "slow, baseline");
  ASSERT_TRUE(waitUntil([&] { return entry("a").label.tags.size() == 2; }));
  choose({"a", "b"});
  command("runs.tag");
  EXPECT_FALSE(part("runName")->isEnabled());
  EXPECT_EQ(part("runTags")->text(), "") << "they have none in common";
  write("runTags", "shown");
  ASSERT_TRUE(waitUntil([&] {
    return entry("b").label.tags == QStringList{"shown"} && entry("a").label.tags.size() == 3;
  }));
  EXPECT_EQ(entry("a").label.tags, (QStringList{"baseline", "shown", "slow"}));
  part("runsFilter")->setText("tag:shown");
  EXPECT_EQ(panel_->view()->model()->rowCount(), 2);
}

TEST_F(RunsPanelTest, ANoteIsWrittenAndEscapeLeavesAllAsItWas) {
  choose({"c"});
  command("runs.note");
  QTest::keyClicks(part("runNote"), "never mind");
  for (QAction* action : part<QWidget>("runLabelForm")->actions()) {
    action->trigger();  // Esc
  }
  EXPECT_FALSE(part("runNote")->isVisible());
  EXPECT_FALSE(QFile::exists(path("c") + ".label.json"));
  command("runs.note");
  EXPECT_EQ(part("runNote")->text(), "");
  write("runNote", "after the fix");
  EXPECT_TRUE(waitUntil([&] { return entry("c").label.note == "after the fix"; }));
}

TEST_F(RunsPanelTest, SaysWhereALabelCannotBeWritten) {
  QFile file(path("a") + ".label.json");
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write("of tomorrow");
  file.close();
  QSignalSpy failed(panel_.get(), &RunsPanel::failed);
  choose({"a"});
  command("runs.tag");
  write("runTags", "slow");
  ASSERT_EQ(failed.size(), 1);
  EXPECT_TRUE(failed[0][0].toString().contains("is no label of a run"));
}

TEST_F(RunsPanelTest, RunsAreGroupedByWhatIsChosenInTheBox) {
  choose({"b"});
  command("runs.tag");
  write("runTags", "baseline");
  ASSERT_TRUE(waitUntil([&] { return !entry("b").label.tags.isEmpty(); }));
  auto* groups = part<QComboBox>("runsGroupBy");
  EXPECT_EQ(groups->itemText(0), "No groups");
  EXPECT_TRUE(panel_->view()->isColumnHidden(RunsTable::kGroup));
  groups->setCurrentIndex(groups->findData("tag"));
  emit groups->activated(groups->currentIndex());
  EXPECT_FALSE(panel_->view()->isColumnHidden(RunsTable::kGroup));
  EXPECT_EQ(panel_->view()->horizontalHeader()->visualIndex(RunsTable::kGroup), 0);
  EXPECT_EQ(panel_->view()->model()->index(0, RunsTable::kGroup).data().toString(), "baseline");
  QSignalSpy refreshed(panel_.get(), &RunsPanel::refreshed);
  panel_->refresh();
  ASSERT_TRUE(waitUntil([&] { return !refreshed.isEmpty(); }));
  EXPECT_EQ(groups->currentData().toString(), "tag") << "a scan leaves the choice";
  panel_->setGroupBy({});
  EXPECT_TRUE(panel_->view()->isColumnHidden(RunsTable::kGroup));
}

TEST_F(RunsPanelTest, RunsThatAreComparedAreDrawnInTheirColours) {
  const auto drawn = [&](const QColor& colour) {
    const QImage image = panel_->view()->viewport()->grab().toImage();
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        if (image.pixelColor(x, y) == colour) {
          return true;
        }
      }
    }
    return false;
  };
  panel_->view()->clearSelection();
  const bool before = drawn(currentPalette().rank(1));
  panel_->setCompared({path("c"), path("a")});
  EXPECT_TRUE(drawn(currentPalette().rank(1)));
  EXPECT_TRUE(drawn(currentPalette().rank(0)));
  panel_->setCompared({});
  EXPECT_EQ(drawn(currentPalette().rank(1)), before);
}

TEST_F(RunsPanelTest, WhatCanBeDoneStandsInTheMenuOfARun) {
  TableView* view = panel_->view();
  emit view->customContextMenuRequested(view->visualRect(view->model()->index(0, 0)).center());
  auto* menu = part<QMenu>("runMenu");
  ASSERT_NE(menu, nullptr);
  for (QAction* action : panel_->panelActions()) {
    EXPECT_TRUE(menu->actions().contains(action)) << action->text().toStdString();
    EXPECT_FALSE(action->shortcut().isEmpty());
  }
  QSignalSpy again(panel_.get(), &RunsPanel::runAgainRequested);
  QSignalSpy edit(panel_.get(), &RunsPanel::editCopyRequested);
  for (const char* words : {"Run again with…", "Edit a copy"}) {
    const QList<QAction*> actions = menu->actions();
    const auto at = std::ranges::find(actions, QString(words), &QAction::text);
    ASSERT_NE(at, actions.end()) << words;
    EXPECT_TRUE((*at)->isEnabled());
    (*at)->trigger();
  }
  const QString run = panel_->runs().entry(view->rowsModel().rowAt(0)).path;
  ASSERT_EQ(again.size(), 1);
  EXPECT_EQ(again.front().front().toString(), run);
  ASSERT_EQ(edit.size(), 1);
  EXPECT_EQ(edit.front().front().toString(), run);
  menu->close();
}

TEST_F(RunsPanelTest, ACommandFromElsewhereAsksForTheList) {
  choose({"a"});
  panel_->hide();
  QSignalSpy wanted(panel_.get(), &RunsPanel::sightWanted);
  command("runs.rename");
  EXPECT_EQ(wanted.size(), 1);
}

}  // namespace
}  // namespace lockstep::ui

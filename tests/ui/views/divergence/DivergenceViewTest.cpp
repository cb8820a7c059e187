#include "ui/views/divergence/DivergenceView.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QTextBrowser>
#include <QWheelEvent>
#include <algorithm>
#include <memory>

#include "engine/trace/Event.h"
#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/EmptySentence.h"
#include "tests/ui/views/RenderedViewFixture.h"
#include "tests/ui/views/divergence/DivergentRun.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/model/StepSelection.h"
#include "ui/table/TableView.h"
#include "ui/views/divergence/ParameterTab.h"
#include "ui/views/divergence/SequenceTab.h"

namespace lockstep::ui {
namespace {

constexpr int kPatienceMs = 30'000;

class DivergenceViewTest : public RenderedViewFixture<DivergenceView> {
 protected:
  void openFile(const std::filesystem::path& path) {
    model_ = std::make_unique<RunModel>(path);
    analyser_ = std::make_unique<RunAnalyser>(*model_);
    view_->setRun({model_.get(), &state_, analyser_.get()});
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return view_->facts() != nullptr && view_->facts()->complete; }, kPatienceMs));
  }

  void open(bool faulty = true) {
    const auto path = folder_ / "run.lockstep";
    const base::Status written = test::writeDivergentRun(path, faulty);
    ASSERT_TRUE(written.ok());
    openFile(path);
  }

  void show(DivergenceView::Tab tab) {
    view_->showTab(tab);
    QApplication::processEvents();  // the tab's canvas is laid out
  }

  static QWidget* surface(DivergenceTab* tab) {
    return tab->canvas()->childAt(tab->canvas()->rect().center());
  }

  static void click(DivergenceTab* tab, QPointF at) {
    QTest::mouseClick(surface(tab), Qt::LeftButton, {}, at.toPoint());
  }

  static void wheel(DivergenceTab* tab, QPointF at, int notches) {
    QWheelEvent event(at, surface(tab)->mapToGlobal(at), QPoint(), QPoint(0, 120 * notches),
                      Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    QApplication::sendEvent(surface(tab), &event);
  }

  static bool says(DivergenceTab* tab, const QString& part) {
    DisplayList list;
    tab->drawInto(list);
    return std::any_of(list.texts().begin(), list.texts().end(),
                       [&part](const QString& text) { return text.contains(part); });
  }

  support::TemporaryFolder folder_;
  ViewState state_;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<RunAnalyser> analyser_;
};

TEST_P(DivergenceViewTest, SaysWhyItIsEmpty) {
  QSignalSpy wanted(view_.get(), &DivergenceView::demoRequested);
  EXPECT_TRUE(test::says(*view_, "No run is open"));
  test::pressTheButtonOf(*view_);
  EXPECT_EQ(wanted.count(), 1);
}

TEST_P(DivergenceViewTest, AHealthyRunIsGreenAndItsCallsMatch) {
  open(false);
  EXPECT_TRUE(says(view_->parameters(), "All ranks equal for 50 iterations"));
  EXPECT_FALSE(view_->findChild<QPushButton*>("firstDifference")->isEnabled());
  EXPECT_FALSE(view_->findChild<QPushButton*>("firstMismatch")->isEnabled());
  EXPECT_TRUE(view_->findChild<QPushButton*>("copyFingerprintSetting")->isHidden());
  EXPECT_TRUE(view_->calls()->canvas()->accessibleDescription().contains("calls match"));
}

TEST_P(DivergenceViewTest, TheLastRowOfATableInSightIsSeenWhole) {
  open();
  for (const auto& [tab, name] : {std::pair(DivergenceView::kParameters, "parameterTable"),
                                  std::pair(DivergenceView::kCalls, "sequenceTable")}) {
    show(tab);
    const auto* table = view_->findChild<QTableView*>(name);
    const int row = table->verticalHeader()->defaultSectionSize();
    for (const int height : {613, 700, 851}) {
      view_->resize(1100, height);
      EXPECT_TRUE(QTest::qWaitFor(
          [&] { return table->isVisible() && table->viewport()->height() % row == 0; }, 1000))
          << name << " at " << height << ": " << table->viewport()->height();
    }
  }
}

TEST_P(DivergenceViewTest, ARunWithoutFingerprintsSaysHowToTurnThemOn) {
  const auto path = folder_ / "demo.lockstep";
  ASSERT_TRUE(test::writeDemoRun(path).ok());
  openFile(path);
  EXPECT_TRUE(says(view_->parameters(), "This run recorded no fingerprints"));
  auto* copy = view_->findChild<QPushButton*>("copyFingerprintSetting");
  ASSERT_TRUE(copy->isVisible());
  QTest::mouseClick(copy, Qt::LeftButton);
  EXPECT_TRUE(QApplication::clipboard()->text().contains("fingerprint_every = 10"));
}

TEST_P(DivergenceViewTest, ShowsTheFirstDifferenceAndAClickExplainsACell) {
  open();
  EXPECT_TRUE(says(view_->parameters(), "Replicas differ, first seen at iteration 30"));
  EXPECT_TRUE(says(view_->parameters(), "conv2.weight"));
  EXPECT_TRUE(says(view_->parameters(), "first difference: iteration 30"));
  EXPECT_EQ(view_->parameters()->selected(), (ReplicaPlace{3, test::kFlippedParameter}));
  const ReplicaPlace other{4, 5};
  const auto rect = view_->parameters()->rectOf(other);
  ASSERT_TRUE(rect.has_value());
  click(view_->parameters(), rect->center());
  EXPECT_EQ(view_->parameters()->selected(), other);
  EXPECT_EQ(view_->findChild<TableView*>("parameterTable")->currentIndex().row(), 5)
      << "the table shows the same";
  trigger("M");
  EXPECT_EQ(view_->parameters()->selected(), (ReplicaPlace{3, test::kFlippedParameter}));
}

TEST_P(DivergenceViewTest, TheTableHasTheRoomUntilACellIsSelected) {
  open(false);
  QApplication::processEvents();
  const auto* table = view_->findChild<TableView*>("parameterTable");
  const auto* details = view_->findChild<QTextBrowser*>("replicaDetails");
  EXPECT_FALSE(view_->parameters()->selected().has_value());
  EXPECT_TRUE(details->toPlainText().startsWith("Click a cell to see its parameter"));
  EXPECT_GT(table->width(), 3 * details->width());
  const int before = details->width();
  const auto rect = view_->parameters()->rectOf({2, 1});
  ASSERT_TRUE(rect.has_value());
  click(view_->parameters(), rect->center());
  EXPECT_GT(details->width(), before);
}

TEST_P(DivergenceViewTest, ATableRowSelectsItsFirstBadCell) {
  open();
  auto* table = view_->findChild<TableView*>("parameterTable");
  table->setCurrentIndex(table->model()->index(7, 0));
  EXPECT_EQ(view_->parameters()->selected(), (ReplicaPlace{4, 7}));
}

TEST_P(DivergenceViewTest, ListsGradientsThatHeldNoNumber) {
  open();
  auto* table = view_->findChild<TableView*>("findingTable");
  ASSERT_EQ(table->model()->rowCount(), 1);
  const QStringList wanted{"20", "1", "0", "3", "0", "fc3.bias"};
  for (int column = 0; column < wanted.size(); ++column) {
    EXPECT_EQ(table->model()->index(0, column).data().toString(), wanted[column]);
  }
  EXPECT_TRUE(says(view_->parameters(), "no finite number, first in iteration 20, rank 1"));
  table->setCurrentIndex(table->model()->index(0, 0));
  ASSERT_TRUE(state_.selection().has_value()) << "the iteration of that rank";
  EXPECT_EQ(state_.selection()->step, test::kNanStep);
  EXPECT_EQ(state_.selection()->rank(), 1);
}

TEST_P(DivergenceViewTest, TheWheelZoomsTheIterationsAndFShowsAll) {
  open();
  const auto before = view_->parameters()->rectOf({3, test::kFlippedParameter});
  wheel(view_->parameters(), before->center(), 2);
  const auto after = view_->parameters()->rectOf({3, test::kFlippedParameter});
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(after->width(), before->width() * 1.3);
  trigger("F");
  EXPECT_NEAR(view_->parameters()->rectOf({3, test::kFlippedParameter})->width(), before->width(),
              0.01);
}

TEST_P(DivergenceViewTest, TheCallsOpenAtTheFirstMismatch) {
  open();
  show(DivergenceView::kCalls);
  EXPECT_TRUE(says(view_->calls(), "first: operation mismatch"));
  EXPECT_TRUE(says(view_->calls(), "broadcast"));
}

TEST_P(DivergenceViewTest, AClickOnACallSelectsItsSpanAndTheRow) {
  open();
  show(DivergenceView::kCalls);
  trigger("M");
  const std::size_t row = *view_->facts()->sequences.front().first;
  const auto rect = view_->calls()->rectOf({row, 1});
  ASSERT_TRUE(rect.has_value());
  click(view_->calls(), rect->center());
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->rank(), 1);
  EXPECT_EQ(state_.selection()->step, test::kMismatchStep);
  EXPECT_EQ(state_.selection()->bucket, 2);
  EXPECT_EQ(view_->findChild<TableView*>("sequenceTable")->currentIndex().row(),
            static_cast<int>(row));
}

TEST_P(DivergenceViewTest, AnotherGroupOfCallsIsShownFromItsStart) {
  trace::RunUpdate run = test::demoRun();
  for (trace::SpanRow& span : run.spans) {
    if ((span.kind == trace::EventKind::kCollective ||
         span.kind == trace::EventKind::kCollectiveQueued) &&
        span.bucket == 2) {
      span.detail = trace::packOperation(trace::Operation::kAllreduce, 1);
    }
  }
  const auto path = folder_ / "groups.lockstep";
  ASSERT_TRUE(test::writeRun(path, run).ok());
  openFile(path);
  show(DivergenceView::kCalls);
  auto* groups = view_->findChild<QComboBox*>("sequenceGroup");
  ASSERT_EQ(groups->count(), 2);
  auto* table = view_->findChild<TableView*>("sequenceTable");
  table->setCurrentIndex(table->model()->index(30, 0));
  ASSERT_GT(table->verticalScrollBar()->value(), 0);
  emit groups->activated(1);
  ASSERT_GT(table->model()->rowCount(), 30);
  EXPECT_FALSE(table->selectionModel()->hasSelection());
  EXPECT_EQ(table->verticalScrollBar()->value(), 0);
}

TEST_P(DivergenceViewTest, AnotherViewsSelectionIsFoundAmongTheCalls) {
  open();
  show(DivergenceView::kCalls);
  const analysis::CallSequence& calls = view_->facts()->sequences.front();
  const trace::SpanRow& span = *calls.callAt(3, 1);
  state_.select(spanOf(*model_, 1, span));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(view_->findChild<TableView*>("sequenceTable")->currentIndex().row(), 3);
}

TEST_P(DivergenceViewTest, ADoubleClickAsksForTheTimeline) {
  open();
  show(DivergenceView::kCalls);
  trigger("M");
  QSignalSpy asked(view_.get(), &DivergenceView::timelineRequested);
  const auto rect = view_->calls()->rectOf({*view_->facts()->sequences.front().first, 0});
  ASSERT_TRUE(rect.has_value());
  click(view_->calls(), rect->center());
  QTest::mouseDClick(surface(view_->calls()), Qt::LeftButton, {}, rect->center().toPoint());
  EXPECT_FALSE(asked.isEmpty());
}

TEST_P(DivergenceViewTest, SurvivesTheEndOfItsRunAndAnotherOne) {
  open();
  model_.reset();
  EXPECT_EQ(view_->facts(), nullptr);
  EXPECT_TRUE(test::says(*view_, "No run is open"));
  analyser_.reset();
  const auto path = folder_ / "healthy.lockstep";
  ASSERT_TRUE(test::writeDivergentRun(path, false).ok());
  openFile(path);
  EXPECT_TRUE(says(view_->parameters(), "All ranks equal"));
}

// The second call of group 1, before and after another call of the group and one of group 0 came.
TEST(SequenceTabTest, ACallStaysSelectedWhenOthersComeBeforeIt) {
  const auto calls = [](bool late) {
    analysis::HandMadeRun run(2);
    for (std::uint64_t number = 0; number < 3; ++number) {
      if (late || number != 1) {
        run.addCollective(0, 10 * number, 10 * number + 5, number, 0, trace::Operation::kAllreduce,
                          1);
      }
    }
    if (late) {
      run.addCollective(0, 0, 5, 0);
    }
    return test::factsOfRun(run.data(), false);
  };
  SequenceTab tab;
  auto* table = tab.findChild<TableView*>("sequenceTable");
  tab.setFacts(calls(false));
  table->setCurrentIndex(table->model()->index(1, 0));
  tab.setFacts(calls(true));
  EXPECT_EQ(tab.findChild<QComboBox*>("sequenceGroup")->currentIndex(), 1);
  EXPECT_EQ(table->currentRow(), 2u);
}

TEST(SequenceTabTest, WhatItSaysOfTheCallsIsElidedWhereRoomIsShort) {
  analysis::HandMadeRun run(1);
  run.addCollective(0, 0, 5, 0);
  SequenceTab tab;
  tab.setFacts(test::factsOfRun(run.data()));
  const auto* summary = tab.findChild<ElidedLabel*>();
  ASSERT_NE(summary, nullptr);
  EXPECT_FALSE(summary->text().isEmpty());
  EXPECT_EQ(summary->toolTip(), summary->text());
}

INSTANTIATE_TEST_SUITE_P(Renderers, DivergenceViewTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui

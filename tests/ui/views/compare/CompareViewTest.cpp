#include "ui/views/compare/CompareView.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QScrollBar>
#include <QTabBar>
#include <QTableView>
#include <QTest>
#include <QToolButton>
#include <QUrl>
#include <memory>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/compare/AnalysedDemo.h"
#include "ui/panels/ElidedLabel.h"
#include "ui/views/compare/DistributionPanel.h"
#include "ui/views/compare/TwinTimelines.h"

namespace lockstep::ui {
namespace {

constexpr int kPatienceMs = 30'000;

class CompareViewTest : public testing::Test {
 protected:
  void SetUp() override {
    a_ = write("a.lockstep", {});
    view_ = std::make_unique<CompareView>();
    view_->resize(1280, 800);
    view_->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(view_.get()));
  }

  void TearDown() override { view_.reset(); }

  QString write(const char* name, const test::DemoOptions& options) {
    const auto path = folder_ / name;
    EXPECT_TRUE(test::writeDemoRun(path, options).ok());
    return QString::fromStdString(path.string());
  }

  /// Opens A as the window does.
  void open() {
    model_ = std::make_unique<RunModel>(a_.toStdString());
    analyser_ = std::make_unique<RunAnalyser>(*model_);
    ASSERT_TRUE(QTest::qWaitFor([&] { return model_->isLoaded(); }, kPatienceMs));
    view_->setRun({model_.get(), &state_, analyser_.get()});
  }

  void addSlower(const char* name = "b.lockstep") { view_->addRun(write(name, test::slower())); }

  bool compared() {
    return QTest::qWaitFor([&] { return view_->runs().result() != nullptr; }, kPatienceMs);
  }

  bool says(const QString& text) {
    for (const QLabel* label : view_->findChildren<QLabel*>()) {
      if (label->isVisible() && label->text().contains(text)) {
        return true;
      }
    }
    return false;
  }

  /// Drags something over the view; returns whether it may be dropped.
  bool enter(const QMimeData& data) {
    QDragEnterEvent event(QPoint(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    event.ignore();
    QApplication::sendEvent(view_.get(), &event);
    return event.isAccepted();
  }

  QPushButton* button(const QString& text) {
    for (auto* button : view_->findChildren<QPushButton*>()) {
      if (button->isVisible() && button->text() == text) {
        return button;
      }
    }
    return nullptr;
  }

  support::TemporaryFolder folder_;
  QString a_;
  ViewState state_;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<RunAnalyser> analyser_;
  std::unique_ptr<CompareView> view_;  // goes before what it shows
};

TEST_F(CompareViewTest, AForecastOfTheOpenRunStandsBesideWhatWasMeasured) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  view_->setForecast(CompareView::Forecast{"Forecast and measured.", {8, 7, 9}});
  const auto* words = view_->findChild<QLabel*>("compareForecast");
  EXPECT_TRUE(words->isVisible());
  EXPECT_EQ(words->text(), "Forecast and measured.");
  EXPECT_TRUE(view_->distribution()->isVisible()) << "where it is drawn";
  view_->setForecast(std::nullopt);
  EXPECT_FALSE(words->isVisible());
}

// So that signs say what became of the step.
TEST_F(CompareViewTest, TheOpenRunIsSetAgainstTheOneThatItWasMadeFrom) {
  open();
  const QString before = write("before.lockstep", test::slower());
  view_->setBaseline(before);
  ASSERT_TRUE(compared());
  EXPECT_EQ(QString::fromStdString(view_->runs().model(0)->path().string()), before);
  EXPECT_EQ(view_->runs().model(1), model_.get());
  EXPECT_EQ(view_->otherTabs()->tabToolTip(0), a_);
  EXPECT_EQ(view_->timelines()->paneB()->model(), model_.get());
  const std::string& summary = view_->runs().result()->comparison.why[0].summary;
  EXPECT_TRUE(summary.starts_with("B's mean step takes 4.10 ms less than A's")) << summary;
  // The open run stays when its tab is closed.
  Q_EMIT view_->otherTabs()->tabCloseRequested(0);
  EXPECT_EQ(view_->runs().count(), 0u);
  EXPECT_EQ(view_->runs().model(0), model_.get());
}

TEST_F(CompareViewTest, TimelinesHaveMostOfALowWindowAndAllOfItOnRequest) {
  open();
  view_->resize(1100, 740);
  addSlower();
  ASSERT_TRUE(compared());
  const auto paneHeight = [&] { return view_->timelines()->paneB()->height(); };
  EXPECT_TRUE(QTest::qWaitFor([&] { return paneHeight() > 165; }, kPatienceMs)) << paneHeight();
  const int before = paneHeight();
  auto* alone = view_->findChild<QToolButton*>("comparePicturesAlone");
  alone->click();
  EXPECT_FALSE(view_->metricsTable()->isVisible());
  EXPECT_TRUE(QTest::qWaitFor([&] { return paneHeight() > before + 90; }, kPatienceMs));
  alone->click();
  EXPECT_TRUE(view_->metricsTable()->isVisible());
}

TEST_F(CompareViewTest, WithoutARunItAsksForTwo) {
  EXPECT_TRUE(says("Pick two runs: open the first"));
  int asked = 0;
  QObject::connect(view_.get(), &CompareView::openRequested, [&] { ++asked; });
  ASSERT_NE(button("Add a run…"), nullptr);
  button("Add a run…")->click();
  EXPECT_EQ(asked, 1);
}

TEST_F(CompareViewTest, WithOneRunItAsksForTheOther) {
  open();
  EXPECT_TRUE(says("Pick two runs: the open one is A"));
  EXPECT_EQ(view_->runs().count(), 0u);
}

TEST_F(CompareViewTest, TellsWhichRunsAreCompared) {
  QStringList told{"not yet"};
  QObject::connect(view_.get(), &CompareView::comparedChanged,
                   [&](const QStringList& paths) { told = paths; });
  open();
  EXPECT_TRUE(told.isEmpty()) << "A alone is compared with nothing";
  addSlower();
  EXPECT_EQ(told, (QStringList{a_, QString::fromStdString((folder_ / "b.lockstep").string())}));
  view_->clearOthers();
  EXPECT_TRUE(told.isEmpty());
}

TEST_F(CompareViewTest, AnAddedRunIsReadAnalysedAndComparedWithTheOpenOne) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  EXPECT_GT(view_->metricsTable()->model()->rowCount(), 8);
  EXPECT_GT(view_->whyTable()->model()->rowCount(), 2);
  EXPECT_TRUE(says("B's mean step takes"));
  EXPECT_TRUE(says("iterations measured"));
  EXPECT_EQ(view_->message(), "");
  EXPECT_TRUE(view_->otherTabs()->tabText(0).startsWith("B  "));
  EXPECT_EQ(view_->timelines()->paneA()->model(), model_.get());
  EXPECT_EQ(view_->timelines()->paneB()->model(), view_->runs().model(1));
  EXPECT_TRUE(view_->timelines()->paneB()->iteration().has_value());
}

TEST_F(CompareViewTest, RunsThatTrainTheSameSaySo) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  EXPECT_TRUE(says("The experiments are the same."));
  EXPECT_FALSE(view_->keysTable()->isVisible());
}

TEST_F(CompareViewTest, WhatItsMeansAreOfIsReadWholeInAUsualWindow) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  view_->resize(1130, 780);
  const auto* counts = view_->findChild<ElidedLabel*>("compareCounts");
  EXPECT_TRUE(counts->text().startsWith("Means over ranks and iterations. A and B: "));
  EXPECT_TRUE(QTest::qWaitFor([&] {
    return counts->width() < 660 &&
           counts->fontMetrics().horizontalAdvance(counts->text()) <= counts->width();
  })) << counts->text().toStdString()
      << " in " << counts->width();
}

TEST_F(CompareViewTest, AFileThatIsNoRunIsToldInOneSentence) {
  open();
  view_->addRun(QString::fromStdString(folder_.write("text.lockstep", "no run").string()));
  ASSERT_TRUE(QTest::qWaitFor([&] { return says("text.lockstep"); }, kPatienceMs));
  EXPECT_EQ(view_->runs().count(), 0u);
  // Beside a run that is good.
  addSlower();
  ASSERT_TRUE(compared());
  view_->addRun(QString::fromStdString((folder_ / "nowhere.lockstep").string()));
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return view_->message().contains("nowhere.lockstep"); }, kPatienceMs));
  EXPECT_EQ(view_->runs().count(), 1u);
  EXPECT_TRUE(compared());
}

TEST_F(CompareViewTest, TheOpenRunIsNotComparedWithItself) {
  open();
  view_->addRun(a_);
  EXPECT_EQ(view_->runs().count(), 0u);
  EXPECT_TRUE(says("is the open run already"));
  addSlower();
  view_->addRun(QString::fromStdString((folder_ / "b.lockstep").string()));
  EXPECT_EQ(view_->runs().count(), 1u);
  EXPECT_TRUE(view_->message().contains("is compared already"));
}

TEST_F(CompareViewTest, ATabChoosesWhichRunStandsAgainstA) {
  open();
  addSlower();
  view_->addRun(write("c.lockstep", test::slower(2.5)));
  ASSERT_TRUE(compared());
  const auto difference = [&] {
    return view_->metricsTable()
        ->model()
        ->index(0, MetricRows::kDifference)
        .data(RowsModel::kSortRole)
        .toDouble();
  };
  const double ofB = difference();
  view_->otherTabs()->setCurrentIndex(1);
  EXPECT_EQ(view_->other(), 2u);
  EXPECT_GT(difference(), ofB);
  EXPECT_TRUE(says("C's mean step takes"));
  EXPECT_EQ(view_->timelines()->paneB()->model(), view_->runs().model(2));
  EXPECT_EQ(view_->distribution()->table()->model()->rowCount(), 3);
}

TEST_F(CompareViewTest, ClosingATabLeavesTheOthers) {
  open();
  addSlower();
  view_->addRun(write("c.lockstep", test::slower(2.5)));
  ASSERT_TRUE(compared());
  emit view_->otherTabs()->tabCloseRequested(0);
  ASSERT_TRUE(compared());
  EXPECT_EQ(view_->runs().count(), 1u);
  EXPECT_TRUE(view_->otherTabs()->tabToolTip(0).contains("c.lockstep"));
  view_->clearOthers();
  EXPECT_EQ(view_->runs().result(), nullptr);
  EXPECT_TRUE(says("Pick two runs"));
}

TEST_F(CompareViewTest, TheRunAndTheKindThatWereChosenStayWhenARunBeforeItGoes) {
  open();
  addSlower();
  view_->addRun(write("c.lockstep", test::slower(2.5)));
  view_->addRun(write("d.lockstep", test::slower(3.5)));
  ASSERT_TRUE(compared());
  view_->otherTabs()->setCurrentIndex(1);
  QComboBox* kinds = view_->distribution()->kinds();
  ASSERT_GT(kinds->count(), 1);
  kinds->setCurrentIndex(1);
  const QString kind = kinds->currentText();
  emit view_->otherTabs()->tabCloseRequested(0);
  ASSERT_TRUE(compared());
  EXPECT_EQ(view_->other(), 1u);
  EXPECT_EQ(view_->otherTabs()->currentIndex(), 0);
  EXPECT_TRUE(view_->otherTabs()->tabToolTip(0).contains("c.lockstep"));
  EXPECT_TRUE(view_->otherTabs()->tabText(0).startsWith("B  "));
  EXPECT_EQ(kinds->currentText(), kind);
}

TEST_F(CompareViewTest, AReasonLeadsToItsBucketInBothTimelines) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  QAbstractItemModel* why = view_->whyTable()->model();
  int row = 0;
  while (row < why->rowCount() &&
         !why->index(row, WhyRows::kSentence).data().toString().contains("transfer of bucket 1")) {
    ++row;
  }
  ASSERT_LT(row, why->rowCount());
  view_->whyTable()->scrollTo(why->index(row, 0));
  QTest::mouseClick(view_->whyTable()->viewport(), Qt::LeftButton, Qt::NoModifier,
                    view_->whyTable()->visualRect(why->index(row, 0)).center());
  for (TwinPane* pane : {view_->timelines()->paneA(), view_->timelines()->paneB()}) {
    ASSERT_TRUE(pane->state().selection().has_value());
    EXPECT_EQ(pane->state().selection()->bucket, 1);
    EXPECT_EQ(pane->state().selection()->step, *pane->iteration());
  }
}

TEST_F(CompareViewTest, TablesSortByTheFigureAndCopyWithHeadings) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  QTableView* why = view_->whyTable();
  why->sortByColumn(WhyRows::kDelta, Qt::AscendingOrder);
  const auto delta = [&](int row) {
    return why->model()->index(row, 0).data(RowsModel::kSortRole).toDouble();
  };
  for (int row = 1; row < why->model()->rowCount(); ++row) {
    EXPECT_LE(delta(row - 1), delta(row));
  }
  QTableView* metrics = view_->metricsTable();
  metrics->selectRow(0);
  ASSERT_FALSE(metrics->actions().isEmpty());
  QAction* copy = metrics->actions().first();
  EXPECT_EQ(copy->shortcut(), QKeySequence(QKeySequence::Copy));
  copy->trigger();
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith(
      "Metric\tA\tB\tΔ\tΔ %\tVerdict\t99 % interval of Δ\n"));
  EXPECT_EQ(QApplication::clipboard()->text().count('\n'), 2);
}

TEST_F(CompareViewTest, VerdictsAreSeenWithoutScrollingInASmallWindow) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  view_->resize(970, 600);  // what a window of 1,280 by 800 pixels leaves beside the list of runs
  const TableView* metrics = view_->metricsTable();
  EXPECT_TRUE(QTest::qWaitFor([&] {
    for (int row = 0; row < 3; ++row) {
      const QModelIndex verdict = metrics->model()->index(row, MetricRows::kVerdict);
      const QRect cell = metrics->visualRect(verdict);
      const int words = metrics->fontMetrics().horizontalAdvance(verdict.data().toString());
      if (cell.width() < words || !metrics->viewport()->rect().contains(cell)) {
        return false;
      }
    }
    return true;
  }));
  const QModelIndex name = metrics->model()->index(0, MetricRows::kMetric);
  EXPECT_TRUE(name.data(Qt::ToolTipRole).toString().startsWith(name.data().toString()))
      << "where it is cut off, it is told whole";
}

TEST_F(CompareViewTest, VerdictsAndReasonsAreReadWholeAlsoAfterTheViewGotNarrower) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  const TableView* metrics = view_->metricsTable();
  EXPECT_TRUE(QTest::qWaitFor([&] { return metrics->horizontalScrollBar()->maximum() == 0; }))
      << "the verdict is the last column";
  const TableView* why = view_->whyTable();
  const QAbstractItemView* rows = why;
  const auto allHigh = [&] {
    for (int row = 0; row < why->model()->rowCount(); ++row) {
      if (why->rowHeight(row) < rows->sizeHintForRow(row)) {
        return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(QTest::qWaitFor(allHigh));
  view_->resize(900, 800);
  ASSERT_TRUE(QTest::qWaitFor([&] { return view_->width() == 900; }));
  EXPECT_TRUE(QTest::qWaitFor(allHigh));
}

TEST_F(CompareViewTest, RecentRunsAreOfferedWithoutTheOpenOne) {
  open();
  const QString b = write("b.lockstep", test::slower());
  view_->setOtherRuns({a_, b});
  ASSERT_EQ(view_->recentRuns()->count(), 2) << "the invitation and b";
  EXPECT_EQ(view_->recentRuns()->itemText(1), "b");
  emit view_->recentRuns()->activated(1);
  EXPECT_TRUE(compared());
  EXPECT_EQ(view_->recentRuns()->currentIndex(), 0);
}

TEST_F(CompareViewTest, RunFilesAreDroppedOnIt) {
  open();
  QMimeData other;
  other.setUrls({QUrl::fromLocalFile("/tmp/not-a-run.txt")});
  EXPECT_FALSE(enter(other));
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(write("b.lockstep", test::slower())),
                QUrl::fromLocalFile("/tmp/not-a-run.txt")});
  ASSERT_TRUE(enter(data));
  QDropEvent drop(QPointF(100, 100), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(view_.get(), &drop);
  ASSERT_TRUE(compared());
  EXPECT_EQ(view_->runs().count(), 1u);
}

TEST_F(CompareViewTest, AnotherOpenRunIsComparedWithTheSameOthers) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  const QString c = write("c.lockstep", test::slower(2.5));
  RunModel other(c.toStdString());
  RunAnalyser analyser(other);
  ASSERT_TRUE(QTest::qWaitFor([&] { return other.isLoaded(); }, kPatienceMs));
  view_->setRun({&other, &state_, &analyser});
  EXPECT_EQ(view_->runs().result(), nullptr);
  ASSERT_TRUE(compared());
  EXPECT_EQ(view_->timelines()->paneA()->model(), &other);
  view_->setRun({});
  EXPECT_TRUE(says("Pick two runs"));
}

TEST_F(CompareViewTest, BothThemesAreDrawn) {
  open();
  addSlower();
  ASSERT_TRUE(compared());
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    view_->setTheme(theme);
    const QImage drawn = view_->timelines()->paneA()->canvas()->grabImage();
    EXPECT_EQ(drawn.pixelColor(2, drawn.height() - 2).lightness() > 128, theme == Theme::kLight);
  }
}

}  // namespace
}  // namespace lockstep::ui

#include "ui/views/overlap/BucketTab.h"

#include <QComboBox>
#include <QToolButton>
#include <algorithm>
#include <string>

#include "engine/trace/Event.h"
#include "tests/ui/views/AnalysedViewFixture.h"
#include "tests/ui/views/FileDialog.h"
#include "ui/table/TableView.h"
#include "ui/views/overlap/OverlapView.h"

namespace lockstep::ui {
namespace {

// In the view, as it opens.
class BucketTabTest : public AnalysedViewFixture<OverlapView> {
 protected:
  void open(const test::DemoOptions& options = {}) {
    openDemo(
        [this] {
          tab().repaintSoon();
          return tab().content() != nullptr;
        },
        options);
  }
  BucketTab& tab() { return *view_->buckets(); }
  void clickCell(QPointF at, QEvent::Type type = QEvent::MouseButtonPress) {
    QWidget* surface = tab().canvas()->childAt(tab().canvas()->rect().center());
    QMouseEvent event(type, at, surface->mapToGlobal(at), Qt::LeftButton, Qt::LeftButton,
                      Qt::NoModifier);
    QApplication::sendEvent(surface, &event);
  }
  QPointF cell(std::size_t row, int bucket) { return tab().scene().rectOf({row, bucket}).center(); }
  bool says(const QString& part) {
    DisplayList list;
    tab().scene().draw(list);
    QString all;  // sentences may be broken into lines
    for (const QString& text : list.texts()) {
      all += text + QLatin1Char(' ');
    }
    return all.contains(part);
  }
};

TEST_P(BucketTabTest, IsWhatOverlapOpensWithAndTheIterationsAreOneClickAway) {
  open();
  EXPECT_TRUE(tab().isVisible());
  EXPECT_EQ(view_->content(), nullptr) << "made when it is looked at";
  view_->showPicture(OverlapView::kIterations);
  EXPECT_TRUE(QTest::qWaitFor([&] { return view_->content() != nullptr; }, kPatienceMs));
  EXPECT_TRUE(view_->canvas()->isVisible());
}

TEST_P(BucketTabTest, AClickOnACellSelectsItsWorstCollectiveAndShowsItsIterations) {
  open();
  clickCell(cell(1, 0));
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->kind, trace::EventKind::kCollective);
  EXPECT_EQ(state_.selection()->rank(), 1);
  EXPECT_EQ(state_.selection()->bucket, 0);
  EXPECT_EQ(state_.selection()->step, tab().content()->sampleOf(1, 0, {})->step);
  EXPECT_TRUE(says("rank 1, bucket 0, iteration by iteration"));
  const auto buckets = static_cast<std::size_t>(tab().content()->delays.buckets);
  EXPECT_EQ(tab().table()->currentRow(), buckets);
  const auto foot = tab().scene().bars()->positionOf(12);
  ASSERT_TRUE(foot.has_value());
  clickCell(*foot);
  EXPECT_EQ(state_.selection()->step, 12u) << "a bar selects its iteration";
}

TEST_P(BucketTabTest, ShowOnTheTimelineOpensTheWorstIteration) {
  open();
  QSignalSpy asked(view_.get(), &OverlapView::timelineRequested);
  clickCell(cell(0, 1));
  QTest::mouseClick(tab().findChild<QToolButton*>("bucketTimeline"), Qt::LeftButton);
  EXPECT_EQ(asked.size(), 1);
  const std::uint32_t worst = tab().content()->sampleOf(0, 1, {})->step;
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->step, worst);
  EXPECT_EQ(state_.selection()->bucket, 1);
  EXPECT_LT(state_.range().startNs, model_->step(0, worst)->startNs);
  EXPECT_GT(state_.range().endNs, model_->step(0, worst)->endNs);
  clickCell(cell(0, 0), QEvent::MouseButtonDblClick);
  EXPECT_EQ(asked.size(), 2);
}

TEST_P(BucketTabTest, TheFigureAndTheIterationsAreChosen) {
  open();
  auto* figure = tab().findChild<QComboBox*>("bucketMeasure");
  auto* scope = tab().findChild<QComboBox*>("bucketScope");
  EXPECT_EQ(figure->currentText(), "Cost");
  figure->setCurrentText("Duration");
  EXPECT_TRUE(says("Duration by rank and bucket"));
  EXPECT_TRUE(says("mean of the measured iterations"));
  scope->setCurrentIndex(static_cast<int>(CellScope::kStep));
  state_.setIteration(12);
  EXPECT_TRUE(says("Of iteration 12"));
  EXPECT_EQ(scope->currentText(), "Iteration 12");
}

TEST_P(BucketTabTest, WritesItsCellsAsCsv) {
  open();
  const std::filesystem::path path = folder_ / "cells.csv";
  test::writeBy(*tab().findChild<QToolButton*>("bucketExport"), path);
  const std::string text = support::readFile(path);
  EXPECT_TRUE(
      text.starts_with("Rank,Bucket,Cost (ms),Exposed (ms),Arrival lateness (ms),Duration (ms),"))
      << text;
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            1 + tab().content()->delays.cells.size());
}

TEST_P(BucketTabTest, ArrowsGoOverCellsAndReturnToTheTimeline) {
  open();
  clickCell(cell(0, 0));
  trigger(Qt::Key_Right);
  EXPECT_EQ(state_.selection()->bucket, 1);
  trigger(Qt::Key_Down);
  EXPECT_EQ(state_.selection()->rank(), 1);
  trigger(Qt::Key_Left);
  EXPECT_EQ(state_.selection()->bucket, 0);
  trigger(Qt::Key_Up);
  EXPECT_EQ(state_.selection()->rank(), 0);
  QSignalSpy asked(view_.get(), &OverlapView::timelineRequested);
  trigger(Qt::Key_Return);
  EXPECT_EQ(asked.size(), 1);
}

TEST_P(BucketTabTest, FollowsASelectionMadeElsewhere) {
  open();
  Span span;
  span.id = 1;
  span.kind = trace::EventKind::kCollective;
  span.lane = laneId(1, LaneRole::kCommunication);
  span.step = 7;
  span.bucket = 1;
  state_.select(span);
  EXPECT_TRUE(says("rank 1, bucket 1, iteration by iteration"));
}

TEST_P(BucketTabTest, TheHeadlineIsSaidToAScreenReaderToo) {
  open();
  const QString verdict = QString::fromStdString(diagnosis::textOf(tab().content()->verdict));
  EXPECT_EQ(tab().canvas()->accessibleDescription(),
            QStringLiteral("%1. %2.").arg(tab().content()->headline, verdict));
  view_->setRun({});
  EXPECT_EQ(tab().content(), nullptr);
}

// Of many ranks the picture begins with those that are unlike the rest; each of them is a choice.
TEST_P(BucketTabTest, OfManyRanksTheFoldedRowsAreTheFirstAndEachRankIsAChoice) {
  open({.ranks = 16});
  const auto content = tab().content();
  auto* rows = tab().findChild<QComboBox*>("bucketRows");
  EXPECT_EQ(rows->isVisibleTo(&tab()), content->alike.size() < content->each.size());
  const double folded = tab().scene().rectOf({0, 0}).height();
  rows->setCurrentIndex(1);
  EXPECT_LE(tab().scene().rectOf({0, 0}).height(), folded);
  EXPECT_EQ(content->each.size(), 16u);
}

INSTANTIATE_TEST_SUITE_P(Painters, BucketTabTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui

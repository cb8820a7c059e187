#include "ui/views/live/LiveView.h"

#include <QTableView>

#include "tests/ui/views/AnalysedViewFixture.h"

namespace lockstep::ui {
namespace {

class LiveViewTest : public AnalysedViewFixture<LiveView> {
 protected:
  void open() {
    openDemo([this] {
      return view_->content() != nullptr &&
             view_->content()->tile(LiveFigure::kOverlap).value.endsWith(QLatin1Char('%'));
    });
  }
};

TEST_P(LiveViewTest, AClickOnTheLastIterationsOpensTheTimelineThere) {
  open();
  QSignalSpy asked(view_.get(), &LiveView::timelineRequested);
  click(view_->scene().timeline().center());
  EXPECT_EQ(asked.size(), 1);
  const auto last = model_->stepOfAll(49);
  EXPECT_LT(state_.range().startNs, model_->stepOfAll(47)->startNs);
  EXPECT_GT(state_.range().endNs, last->endNs);
}

TEST_P(LiveViewTest, TilesAndBucketsLeadToTheViewsThatSayMore) {
  open();
  QSignalSpy overlap(view_.get(), &LiveView::overlapRequested);
  QSignalSpy buckets(view_.get(), &LiveView::bucketsRequested);
  click(view_->scene().tileRect(LiveFigure::kExposed).center());
  EXPECT_EQ(overlap.size(), 1);
  click(view_->scene().tileRect(LiveFigure::kLoss).center());
  EXPECT_EQ(overlap.size(), 1) << "there is no more about it";
  click(view_->scene().cells().front().rect.center());
  EXPECT_EQ(buckets.size(), 1);
}

TEST_P(LiveViewTest, TellsWhatAFigureMeansUnderThePointer) {
  open();
  send(QEvent::MouseMove, view_->scene().tileRect(LiveFigure::kOverlap).center(), Qt::NoButton);
  DisplayList list;
  view_->scene().draw(list);
  QString all;
  for (const QString& text : list.texts()) {
    all += text + QLatin1Char(' ');
  }
  EXPECT_TRUE(all.contains(QStringLiteral("communication was in flight")));
  EXPECT_TRUE(all.contains(QStringLiteral("The curve: the whole run")));
}

TEST_P(LiveViewTest, HasARowForEachRank) {
  open();
  ASSERT_EQ(view_->table()->model()->rowCount(), 2);
  EXPECT_EQ(view_->table()->model()->index(1, 1).data().toString(), QStringLiteral("49"));
}

TEST_P(LiveViewTest, LivesWithoutARunAndWithoutAFile) {
  EXPECT_FALSE(view_->canvas()->isVisible()) << "a sentence and a button stand instead";
  open();
  EXPECT_TRUE(view_->canvas()->accessibleDescription().contains(QStringLiteral("Steps/s")));
  model_.reset();
  EXPECT_FALSE(view_->canvas()->isVisible()) << "the run is gone";
}

INSTANTIATE_TEST_SUITE_P(Painters, LiveViewTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui

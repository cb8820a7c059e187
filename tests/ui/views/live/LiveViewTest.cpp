#include "ui/views/live/LiveView.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <memory>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/model/DemoRun.h"

namespace lockstep::ui {
namespace {

constexpr int kPatienceMs = 30'000;

class LiveViewTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (QString::fromLatin1(GetParam()) == QLatin1String("gl") && !probeGl().usable) {
      GTEST_SKIP() << "no OpenGL here: " << probeGl().device.toStdString();
    }
    qputenv("LOCKSTEP_RENDERER", GetParam());
    view_ = std::make_unique<LiveView>();
    view_->resize(1280, 800);
    view_->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(view_.get()));
  }

  void TearDown() override {
    view_.reset();
    qunsetenv("LOCKSTEP_RENDERER");
  }

  void open() {
    const auto path = folder_ / "demo.lockstep";
    ASSERT_TRUE(test::writeDemoRun(path).ok());
    model_ = std::make_unique<RunModel>(path);
    analyser_ = std::make_unique<RunAnalyser>(*model_);
    view_->setRun({model_.get(), &state_, analyser_.get()});
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return view_->content() != nullptr &&
                 view_->content()->tile(LiveFigure::kOverlap).value.endsWith(QLatin1Char('%'));
        },
        kPatienceMs));
    QSignalSpy painted(view_.get(), &LiveView::framePainted);
    view_->canvas()->repaintSoon();
    ASSERT_TRUE(QTest::qWaitFor([&] { return !painted.isEmpty(); }, kPatienceMs));
  }

  void click(QPointF at) {
    QWidget* surface = view_->canvas()->childAt(view_->canvas()->rect().center());
    for (const auto type : {QEvent::MouseButtonPress, QEvent::MouseButtonRelease}) {
      QMouseEvent event(type, at, surface->mapToGlobal(at), Qt::LeftButton,
                        type == QEvent::MouseButtonPress ? Qt::LeftButton : Qt::NoButton,
                        Qt::NoModifier);
      QApplication::sendEvent(surface, &event);
    }
  }

  support::TemporaryFolder folder_;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<RunAnalyser> analyser_;
  ViewState state_;
  std::unique_ptr<LiveView> view_;
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
  QWidget* surface = view_->canvas()->childAt(view_->canvas()->rect().center());
  const QPointF at = view_->scene().tileRect(LiveFigure::kOverlap).center();
  QMouseEvent event(QEvent::MouseMove, at, surface->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                    Qt::NoModifier);
  QApplication::sendEvent(surface, &event);
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

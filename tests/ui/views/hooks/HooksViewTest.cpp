#include "engine/trace/Event.h"
#include "ui/views/hooks/HooksView.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QSignalSpy>
#include <QStackedLayout>
#include <QTableView>
#include <QTest>
#include <memory>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/EmptySentence.h"
#include "tests/ui/views/hooks/HookRunFile.h"
#include "ui/model/ViewState.h"
#include "ui/views/hooks/HooksTable.h"

namespace lockstep::ui {
namespace {

using analysis::HookPhase;

constexpr int kPatienceMs = 30'000;

class HooksViewTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (QString::fromLatin1(GetParam()) == QLatin1String("gl") && !probeGl().usable) {
      GTEST_SKIP() << "no OpenGL here: " << probeGl().device.toStdString();
    }
    qputenv("LOCKSTEP_RENDERER", GetParam());
    view_ = std::make_unique<HooksView>();
    view_->resize(1200, 800);
    view_->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(view_.get()));
  }

  void TearDown() override {
    view_.reset();
    analyser_.reset();
    model_.reset();
    qunsetenv("LOCKSTEP_RENDERER");
  }

  QString file(const char* name, const test::HookRunOptions& options = {}) {
    const auto path = folder_ / name;
    EXPECT_TRUE(test::writeHookRun(path, options).ok());
    return QString::fromStdString(path.string());
  }

  void open(const test::HookRunOptions& options = {}) {
    model_ = std::make_unique<RunModel>(file("open.lockstep", options).toStdString());
    analyser_ = std::make_unique<RunAnalyser>(*model_);
    view_->setRun({model_.get(), &state_, analyser_.get()});
    ASSERT_TRUE(waitFor([&] { return view_->content() != nullptr; }));
  }

  static bool waitFor(const std::function<bool()>& condition) {
    return QTest::qWaitFor(condition, kPatienceMs);
  }

  QWidget* surface() { return view_->canvas()->childAt(view_->canvas()->rect().center()); }

  void click(const HookPick& pick) {
    const auto at = view_->positionOf(pick);
    ASSERT_TRUE(at.has_value());
    QTest::mouseClick(surface(), Qt::LeftButton, {}, at->toPoint());
  }

  template <typename Child>
  Child* child(const char* name) {
    return view_->findChild<Child*>(QLatin1String(name));
  }

  support::TemporaryFolder folder_;
  std::unique_ptr<RunModel> model_;
  std::unique_ptr<RunAnalyser> analyser_;
  ViewState state_;
  std::unique_ptr<HooksView> view_;
};

TEST_P(HooksViewTest, ShowsTheHeaviestBucketFirst) {
  open();
  EXPECT_EQ(view_->picked(), (HookPick{0, std::nullopt}));
  EXPECT_EQ(view_->table()->model()->rowCount(), 5);
  EXPECT_EQ(view_->table()->columnViewportPosition(HooksTable::kBucket), 0) << "no run is compared";
  EXPECT_TRUE(view_->canvas()->accessibleDescription().contains("bucket 0 10.0 ms"));
}

TEST_P(HooksViewTest, AClickPicksAPhaseMarksItsRowAndSelectsItsLongestEverywhere) {
  open();
  click({0, HookPhase::kEncode});
  EXPECT_EQ(view_->picked(), (HookPick{0, HookPhase::kEncode}));
  const QModelIndex row = view_->table()->currentIndex();
  EXPECT_EQ(row.siblingAtColumn(HooksTable::kPhase).data().toString(), "encode");
  ASSERT_TRUE(state_.selection().has_value());
  EXPECT_EQ(state_.selection()->kind, trace::EventKind::kHookEncode);
  EXPECT_EQ(state_.selection()->rank(), 1);  // 5 ms there, 3 on rank 0
}

TEST_P(HooksViewTest, ARowOfTheTablePicksItsBar) {
  open();
  for (int row = 0; row < view_->table()->model()->rowCount(); ++row) {
    view_->table()->selectRow(row);
    const QString phase = view_->table()->model()->index(row, HooksTable::kPhase).data().toString();
    EXPECT_EQ(phaseTitle(view_->picked()->phase), phase);
  }
}

TEST_P(HooksViewTest, ASpanThatIsSelectedElsewhereIsPickedHere) {
  open();
  click({0, HookPhase::kEncode});
  const auto& rows = model_->lane(laneId(0, LaneRole::kHook))->rows;
  for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
    for (std::size_t i = 0; i < rows[static_cast<std::size_t>(row)].size(); ++i) {
      const Span span = model_->spanAt(laneId(0, LaneRole::kHook), row, i);
      if (span.kind == trace::EventKind::kHookDecode) {
        state_.select(span);
      }
    }
  }
  EXPECT_EQ(view_->picked(), (HookPick{0, HookPhase::kDecode}));
}

TEST_P(HooksViewTest, ArrowsWalkOverThePhases) {
  open();
  view_->canvas()->setFocus();
  const auto trigger = [&](Qt::Key key) {
    for (QAction* action : view_->viewActions()) {
      if (action->shortcut() == QKeySequence(key)) {
        action->trigger();
      }
    }
  };
  trigger(Qt::Key_Right);
  EXPECT_EQ(view_->picked(), (HookPick{0, HookPhase::kEncode}));
  trigger(Qt::Key_Left);
  trigger(Qt::Key_Left);
  EXPECT_EQ(view_->picked(), (HookPick{0, std::nullopt}));
}

TEST_P(HooksViewTest, OneRankAloneIsMeasuredWhenItIsChosen) {
  open();
  auto* ranks = child<QComboBox>("hooksRank");
  ASSERT_EQ(ranks->count(), 3);
  ranks->setCurrentIndex(2);
  emit ranks->activated(2);
  ASSERT_TRUE(waitFor([&] { return view_->content()->rank == 1; }));
  EXPECT_EQ(view_->table()->model()->rowCount(), 4) << "rank 1 waits for nobody";
}

TEST_P(HooksViewTest, LaysAnotherRunOverTheOpenOneAndTakesItAwayAgain) {
  open();
  const QString other = file("other.lockstep", {.hook = "allreduce", .transferMs = 8});
  view_->setOtherRuns({other, QString::fromStdString(model_->path().string())});
  auto* others = child<QComboBox>("hooksOther");
  EXPECT_EQ(others->findText("open"), -1) << "the open run is no other";
  const int index = others->findText("other");
  ASSERT_GT(index, 0);
  others->setCurrentIndex(index);
  emit others->activated(index);
  ASSERT_TRUE(waitFor([&] { return view_->content()->compares(); }));
  EXPECT_FALSE(view_->table()->isColumnHidden(HooksTable::kRun));
  EXPECT_TRUE(view_->positionOf({0, HookPhase::kTransfer}, 1).has_value());
  emit others->activated(0);
  ASSERT_TRUE(waitFor([&] { return !view_->content()->compares(); }));
}

TEST_P(HooksViewTest, ARunThatCannotBeReadIsASentenceAndTheOpenOneStays) {
  open();
  QSignalSpy failed(view_.get(), &HooksView::failed);
  view_->compareWith(QString::fromStdString(folder_.write("bad.lockstep", "nonsense").string()));
  ASSERT_TRUE(waitFor([&] { return failed.count() == 1; }));
  EXPECT_TRUE(child<QLabel>("hooksSentence")->isVisible());
  EXPECT_TRUE(child<QLabel>("hooksSentence")->text().contains("bad.lockstep"));
  EXPECT_NE(view_->content(), nullptr);
}

TEST_P(HooksViewTest, TheDefaultAllreduceHasASentenceAButtonAndItsOwnTimes) {
  open({.hook = "allreduce"});
  EXPECT_TRUE(child<QLabel>("hooksSentence")->isVisible());
  EXPECT_EQ(child<QLabel>("hooksSentence")->text(),
            "Default all-reduce: no hook was loaded in this run");
  EXPECT_TRUE(view_->positionOf({0, HookPhase::kTransfer}).has_value());
  QSignalSpy wanted(view_.get(), &HooksView::loadHookRequested);
  QTest::mouseClick(child<QPushButton>("hooksLoad"), Qt::LeftButton);
  EXPECT_EQ(wanted.count(), 1);
}

TEST_P(HooksViewTest, AJobOfPyTorchWithoutPhasesIsASentenceAndNoButton) {
  open({.hook = "allreduce", .calls = false, .observed = true});
  EXPECT_FALSE(view_->canvas()->isVisible());
  EXPECT_TRUE(waitFor([&] {
    return test::says(*view_,
                      "This is a job of PyTorch: no phases of a communication hook were recorded");
  }));
  for (const QPushButton* button : view_->findChildren<QPushButton*>()) {
    EXPECT_FALSE(button->isVisible()) << button->text().toStdString();
  }
}

TEST_P(HooksViewTest, ARunWithNothingToMeasureIsAnEmptyStateWithItsButton) {
  open({.hook = "allreduce", .calls = false});
  EXPECT_FALSE(view_->canvas()->isVisible());
  QSignalSpy wanted(view_.get(), &HooksView::loadHookRequested);
  test::pressTheButtonOf(*view_);
  EXPECT_EQ(wanted.count(), 1);
}

TEST_P(HooksViewTest, WithoutARunItSaysHowToGetOne) {
  view_->setRun({});
  QSignalSpy wanted(view_.get(), &HooksView::demoRequested);
  EXPECT_TRUE(test::says(*view_, "No run is open"));
  test::pressTheButtonOf(*view_);
  EXPECT_EQ(wanted.count(), 1);
}

TEST_P(HooksViewTest, AnotherRunMayComeWhileTheFirstIsStillMeasured) {
  model_ = std::make_unique<RunModel>(file("a.lockstep").toStdString());
  analyser_ = std::make_unique<RunAnalyser>(*model_);
  view_->setRun({model_.get(), &state_, analyser_.get()});
  view_->setRun({});
  model_ = std::make_unique<RunModel>(file("b.lockstep", {.transferMs = 6}).toStdString());
  analyser_ = std::make_unique<RunAnalyser>(*model_);
  view_->setRun({model_.get(), &state_, analyser_.get()});
  ASSERT_TRUE(waitFor([&] { return view_->content() != nullptr; }));
  EXPECT_EQ(view_->content()->sides[0].buckets.at(0).total.p50, 12);
}

TEST_P(HooksViewTest, CopiesTheTableWithItsTitles) {
  open();
  view_->table()->clearSelection();
  for (QAction* action : view_->table()->actions()) {
    if (action->shortcut() == QKeySequence(QKeySequence::Copy)) {
      action->trigger();
    }
  }
  const QString copied = QApplication::clipboard()->text();
  EXPECT_TRUE(copied.startsWith("Bucket\tPhase\tCount\tMean")) << copied.toStdString();
  EXPECT_EQ(copied.count('\n'), 6);
}

INSTANTIATE_TEST_SUITE_P(Renderers, HooksViewTest, testing::Values("raster", "gl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::ui

#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <QStyle>
#include <QStyleOptionSlider>
#include <QTableView>
#include <QToolButton>
#include <cmath>

#include "engine/trace/Event.h"
#include "tests/ui/xtest/ViewsFixture.h"
#include "ui/views/buckets/BucketsTableRows.h"
#include "ui/views/buckets/BucketsView.h"

namespace lockstep {
namespace {

using namespace tests;
using trace::EventKind;
using ui::BucketsHit;

// The buckets in the window, by pointer and keyboard.
class BucketsXTest : public ViewsFixture {
 protected:
  ui::BucketsView& buckets() { return view<ui::BucketsView>(); }
  const ui::Canvas* canvas() { return buckets().canvas(); }
  ui::BucketsLayout layout() { return buckets().controller()->layout(); }
  const ui::BucketStory& story() { return *buckets().controller()->story(); }
  std::optional<double> replayNs() { return buckets().controller()->replayNs(); }

  void openAtStep20() {
    openDemo();
    ASSERT_TRUE(window().session()->showStep(20));
    showStage("buckets");
    ASSERT_TRUE(waitUntil([this] {
      return buckets().controller()->ready() && story().step == 20U && story().measured();
    }));
  }
  Place cell(int bucket, std::size_t place) {
    return [this, bucket, place]() -> std::optional<QPointF> {
      const auto cells = layout().cells(bucket);
      return place < cells.size() ? std::optional(cells[place].rect.center()) : std::nullopt;
    };
  }
  // On the ruler, or on a strip of a bucket, at a part of the time.
  Place ruler(double part) {
    return [this, part] {
      const ui::TimeAxis axis = layout().axis();
      return std::optional(QPointF(axis.left() + part * axis.width(), 30));
    };
  }
  Place strip(int bucket, double part) {
    return [this, bucket, part] {
      const ui::TimeAxis axis = layout().axis();
      return std::optional(
          QPointF(axis.left() + part * axis.width(), layout().strip(bucket, 0).center().y()));
    };
  }
  void tabTo(const QWidget* wanted) {
    constexpr int kMost = 60;
    for (int i = 0; i < kMost && !wanted->hasFocus(); ++i) {
      const QWidget* before = QApplication::focusWidget();
      press(kKeyTab);
      ASSERT_TRUE(waitUntil([&] { return QApplication::focusWidget() != before; }));
    }
    ASSERT_TRUE(wanted->hasFocus()) << wanted->objectName().toStdString();
  }
};

TEST_P(BucketsXTest, ACellTellsItsParameterAndAClickSelectsItEverywhere) {
  openAtStep20();
  const Screenshot before = input_.screenshot();
  point(canvas(), cell(1, 0));
  ASSERT_TRUE(waitUntil([&] {
    const BucketsHit& hit = buckets().controller()->frame().hovered;
    return hit.bucket == 1 && hit.kind == BucketsHit::Kind::kParameter;
  }));
  EXPECT_TRUE(waitUntil([&] { return pixelsChangedSince(before) > 1000; })) << "a card, on screen";
  keep(input_.screenshot(), QString("buckets-hover-") + GetParam());
  const int parameter = buckets().controller()->frame().hovered.parameter;
  clickAt(canvas(), cell(1, 0));
  ASSERT_TRUE(waitUntil([&] { return selection().has_value(); }));
  EXPECT_EQ(selection()->kind, EventKind::kGradientReady);
  EXPECT_EQ(selection()->step, 20U);
  EXPECT_EQ(static_cast<int>(selection()->value), parameter);
  const auto* table = find<QTableView>("bucketsTable");
  ASSERT_EQ(table->selectionModel()->selectedRows().size(), 1);
  auto* title = find<QLabel>("inspectorTitle");
  EXPECT_TRUE(waitUntil([&] { return title->isVisible() && !title->text().isEmpty(); }));
  clickAt(canvas(), [this] { return std::optional(QPointF(30, layout().row(0).center().y())); });
  ASSERT_TRUE(waitUntil([&] { return selection()->kind == EventKind::kCollective; }));
  EXPECT_EQ(selection()->bucket, 0);
  press(kKeyEscape);
  EXPECT_TRUE(waitUntil([&] { return !selection(); }));
}

TEST_P(BucketsXTest, ADotOfTheReadyOrderIsARanksGradient) {
  openAtStep20();
  const std::uint32_t parameter = story().layout.buckets[0].parameters[0];
  clickAt(canvas(), [&] { return layout().dot(1, parameter, ui::OrderAgainst::kBuckets); });
  ASSERT_TRUE(waitUntil([&] { return selection().has_value(); }));
  EXPECT_EQ(selection()->value, parameter);
  EXPECT_EQ(selection()->rank(), 1);
}

TEST_P(BucketsXTest, InitialAndRebuiltAreChosenByTheButtonsAndByR) {
  openAtStep20();
  click(find<QToolButton>("initialLayout"));
  ASSERT_TRUE(waitUntil([this] { return story().step == 0U && story().layout.layout == 0U; }));
  EXPECT_EQ(state().iteration(), 0U);
  click(find<QToolButton>("rebuiltLayout"));
  ASSERT_TRUE(waitUntil([this] { return story().step == 20U; }));
  press('r');
  ASSERT_TRUE(waitUntil([this] { return story().step == 0U; }));
  press('r');
  ASSERT_TRUE(waitUntil([this] { return story().step == 20U; }));
  press(kKeyPageDown);
  EXPECT_TRUE(waitUntil([this] { return story().step == 21U; }));
}

TEST_P(BucketsXTest, TheOrderToCompareWithIsChosenInTheBoxWhichGivesTheKeysBack) {
  openAtStep20();
  chooseIn("orderAgainst", "Against registration");
  ASSERT_TRUE(waitUntil(
      [this] { return buckets().controller()->against() == ui::OrderAgainst::kRegistration; }));
  press('o');
  EXPECT_TRUE(waitUntil([this] {
    return buckets().controller()->against() == ui::OrderAgainst::kBuckets;
  })) << "a key of the stage";
  EXPECT_TRUE(waitUntil([this] {
    return find<QComboBox>("orderAgainst")->currentText() == "Against bucket order";
  })) << "the box shows what is so";
}

TEST_P(BucketsXTest, TheSliderAndTheRulerMoveTheReplay) {
  openAtStep20();
  auto* slider = find<QSlider>("replaySlider");
  const auto handle = [slider]() -> std::optional<QPointF> {
    QStyleOptionSlider option;
    option.initFrom(slider);
    option.minimum = slider->minimum();
    option.maximum = slider->maximum();
    option.sliderPosition = slider->value();
    option.orientation = Qt::Horizontal;
    option.subControls = QStyle::SC_All;
    return QRectF(slider->style()->subControlRect(QStyle::CC_Slider, &option,
                                                  QStyle::SC_SliderHandle, slider))
        .center();
  };
  const QPoint grip = at(slider, handle);
  input_.drag(grip.x(), grip.y(), grip.x() - slider->width() / 2, grip.y());
  ASSERT_TRUE(waitUntil([&] { return std::abs(buckets().controller()->replayPart() - 0.5) < 0.1; }))
      << buckets().controller()->replayPart();
  const double wanted =
      layout().axis().toNs(layout().axis().left() + 0.5 * layout().axis().width() + 60);
  dragAt(canvas(), ruler(0.5), {60, 0});
  ASSERT_TRUE(waitUntil([&] {
    return replayNs() && std::abs(*replayNs() - wanted) < 3 * layout().axis().nsPerPixel();
  })) << replayNs().value_or(-1)
      << " and not " << wanted;
  keep(input_.screenshot(), QString("buckets-replay-") + GetParam());
  const double there = *replayNs();
  press(kKeyRight);
  ASSERT_TRUE(waitUntil([&] { return replayNs().value_or(1e18) > there; }))
      << "the keys are the stage's after the mouse";
  press(kKeyHome);
  ASSERT_TRUE(waitUntil([&] { return buckets().controller()->replayPart() == 0; }));
  press(kKeyEscape);
  EXPECT_TRUE(waitUntil([&] { return !replayNs(); }));
}

TEST_P(BucketsXTest, SpacePlaysAndPausesAndSoDoesTheButton) {
  openAtStep20();
  press(' ');
  ASSERT_TRUE(waitUntil([this] { return buckets().isPlaying(); }));
  ASSERT_TRUE(waitUntil([this] { return buckets().controller()->replayPart() > 0; }));
  press(' ');
  ASSERT_TRUE(waitUntil([this] { return !buckets().isPlaying(); }));
  const double part = buckets().controller()->replayPart();
  click(find<QToolButton>("playReplay"));
  ASSERT_TRUE(waitUntil([&] { return buckets().controller()->replayPart() > part; }));
  click(find<QToolButton>("playReplay"));
  EXPECT_TRUE(waitUntil([this] { return !buckets().isPlaying(); }));
}

TEST_P(BucketsXTest, AControlOfTheToolbarThatHasTheFocusKeepsItsKeys) {
  openAtStep20();
  auto* initial = find<QToolButton>("initialLayout");
  auto* rebuilt = find<QToolButton>("rebuiltLayout");
  tabTo(initial);
  press(' ');
  ASSERT_TRUE(waitUntil([this] { return story().step == 0U; })) << "pressed";
  EXPECT_FALSE(buckets().isPlaying());
  press(kKeyRight);
  ASSERT_TRUE(waitUntil([&] { return rebuilt->hasFocus() && story().step == 20U; }))
      << "the other of the two";
  EXPECT_FALSE(replayNs()) << "and no event of the replay";
  auto* slider = find<QSlider>("replaySlider");
  tabTo(slider);
  press(kKeyLeft);
  ASSERT_TRUE(waitUntil([&] {
    return slider->value() == slider->maximum() - slider->singleStep();
  })) << slider->value();
  press(kKeyHome);
  ASSERT_TRUE(waitUntil([&] { return slider->value() == 0; }));
  EXPECT_NEAR(buckets().controller()->replayPart(), 0, 1e-9);
  press(' ');
  EXPECT_TRUE(waitUntil([this] { return buckets().isPlaying(); })) << "no key of a slider";
}

TEST_P(BucketsXTest, ARowOfTheTableSelectsItsGradientAndArrowsGoOn) {
  openAtStep20();
  auto* table = find<QTableView>("bucketsTable");
  clickCell(table, 2, 0);
  ASSERT_TRUE(waitUntil([&] { return selection().has_value(); }));
  EXPECT_EQ(selection()->kind, EventKind::kGradientReady);
  const auto first = selection()->value;
  press(kKeyDown);
  ASSERT_TRUE(waitUntil([&] { return selection() && selection()->value != first; }));
  EXPECT_EQ(table->currentIndex().row(), 3);
}

TEST_P(BucketsXTest, TheWheelZoomsTheTimesADoubleClickABucketAndTheMiddleButtonMoves) {
  openAtStep20();
  const double whole = layout().axis().lengthNs();
  const double x = canvas()->mapFromGlobal(at(canvas(), strip(0, 0.5))).x();
  const double under = layout().axis().toNs(x);
  wheelAt(canvas(), strip(0, 0.5), 1, [&] { return layout().axis().lengthNs() < whole * 0.6; });
  EXPECT_NEAR(layout().axis().toX(under), x, 1.5);
  const double startNs = layout().axis().startNs();
  const double perPixel = layout().axis().nsPerPixel();
  dragAt(canvas(), strip(0, 0.5), {-40, 0}, kMiddleButton);
  ASSERT_TRUE(waitUntil([&] {
    return std::abs(layout().axis().startNs() - startNs - 40 * perPixel) < 2 * perPixel;
  }));
  press('f');
  ASSERT_TRUE(waitUntil([&] { return std::abs(layout().axis().lengthNs() - whole) < 1; }));
  doubleClickAt(canvas(), strip(1, 0.6));
  EXPECT_TRUE(waitUntil([&] { return layout().axis().lengthNs() < whole * 0.9; }));
}

TEST_P(BucketsXTest, ALiveRunIsShownAtTheLastIterationThatAllRanksEnded) {
  const auto run = openLive(4);
  showStage("buckets");
  ASSERT_TRUE(waitUntil([this] { return buckets().controller()->ready() && story().step == 3U; }));
  run->steps(3);
  ASSERT_TRUE(waitUntil([this] { return story().step == 6U; }));
  press(kKeyHome);  // a replay stands while the run goes on
  ASSERT_TRUE(waitUntil([this] { return replayNs().has_value(); }));
  press(kKeyPageUp);
  ASSERT_TRUE(waitUntil([this] { return story().step == 5U && !state().followsLive(); }));
  run->finish(trace::RunState::kFinished);
  EXPECT_TRUE(waitUntil([this] { return !model().isLive(); }));
}

LOCKSTEP_ON_BOTH_PAINTERS(BucketsXTest);

}  // namespace
}  // namespace lockstep

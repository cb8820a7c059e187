#include "engine/trace/Event.h"
#include "ui/views/buckets/BucketsLayout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/views/buckets/BucketRun.h"
#include "ui/views/buckets/BucketsScene.h"

namespace lockstep::ui {
namespace {

using Kind = BucketsHit::Kind;

class BucketsLayoutTest : public testing::Test {
 protected:
  BucketsLayoutTest() {
    model_.applyUpdate(test::BucketRun().update);
    story_ = BucketStories(model_).ofStep(1);
  }

  BucketsLayout layout(QSizeF size = {1200, 600}) const {
    return BucketsLayout(*story_, size, wholeTime(*story_), 0, 0);
  }

  static bool holds(const DisplayList& list, const QString& text) {
    const auto& texts = list.texts();
    return std::any_of(texts.begin(), texts.end(),
                       [&](const QString& one) { return one.contains(text); });
  }

  DisplayList drawn(BucketsFrame frame = {}, double width = 1200) const {
    frame.size = {width, 600};
    frame.shown = wholeTime(*story_);
    DisplayList list;
    BucketsScene(*story_, Palette::of(Theme::kLight), frame).draw(list);
    return list;
  }

  RunModel model_;
  std::shared_ptr<const BucketStory> story_;
};

TEST_F(BucketsLayoutTest, CellsAreAsWideAsTheirBytesAndFillTheirBucket) {
  const BucketsLayout at = layout();
  const auto one = at.cells(0);
  const auto two = at.cells(1);
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_NEAR(one[0].rect.width(), two[0].rect.width(), 1e-9);
  EXPECT_NEAR(two[0].rect.right(), two[1].rect.left(), 1e-9);
  EXPECT_NEAR(two[1].rect.right(), at.mapColumn().right(), 1e-9) << "the largest bucket fills it";
  EXPECT_EQ(two[0].parameter, 2u);
}

TEST_F(BucketsLayoutTest, TheCapStandsWhereItsBytesAre) {
  const BucketsLayout at = layout();
  ASSERT_TRUE(at.xOfCap(1).has_value());
  EXPECT_NEAR(*at.xOfCap(1), at.mapColumn().left() + 0.75 * at.mapColumn().width(), 1e-9);
}

TEST_F(BucketsLayoutTest, NamesStandBeforeTheLineOfTheCapAndItsValueBehindIt) {
  const DisplayList list = drawn();
  const double cap = *layout().xOfCap(1);
  const QRectF row = layout().row(1);
  int before = 0;
  QString behind;
  for (const auto& command : list.commands()) {
    if (command.op != DisplayList::Op::kText || !row.contains(command.rect.center()) ||
        command.rect.right() > layout().mapColumn().right() ||
        command.rect.left() < layout().mapColumn().left()) {
      continue;
    }
    if (command.rect.left() < cap) {
      ++before;
      EXPECT_LE(command.rect.right(), cap) << list.textOf(command).toStdString();
    } else {
      behind += list.textOf(command);
    }
  }
  EXPECT_EQ(before, 4) << "names and sizes of both parameters";
  EXPECT_EQ(behind, "cap 150 B");
}

TEST_F(BucketsLayoutTest, EveryPartIsHitWhereItIsDrawn) {
  const BucketsLayout at = layout();
  const BucketsHit cell = at.hit(at.cells(1)[1].rect.center(), OrderAgainst::kBuckets);
  EXPECT_EQ(cell.kind, Kind::kParameter);
  EXPECT_EQ(cell.parameter, 1);
  EXPECT_EQ(cell.bucket, 1);
  for (int rank = 0; rank < 2; ++rank) {
    const BucketsHit strip = at.hit(at.strip(2, rank).center(), OrderAgainst::kBuckets);
    EXPECT_EQ(strip.kind, Kind::kTimes);
    EXPECT_EQ(strip.bucket, 2);
    EXPECT_EQ(strip.rank, rank);
    for (std::uint32_t parameter = 0; parameter < 4; ++parameter) {
      for (const OrderAgainst against : {OrderAgainst::kBuckets, OrderAgainst::kRegistration}) {
        const auto dot = at.dot(rank, parameter, against);
        ASSERT_TRUE(dot.has_value());
        const BucketsHit hit = at.hit(*dot, against);
        EXPECT_EQ(hit.kind, Kind::kDot);
        EXPECT_EQ(hit.parameter, static_cast<int>(parameter));
        EXPECT_EQ(hit.rank, rank);
      }
    }
  }
  EXPECT_EQ(at.hit({20, at.row(0).center().y()}, OrderAgainst::kBuckets).kind, Kind::kBucket);
  EXPECT_EQ(at.hit({at.timesColumn().center().x(), 30}, OrderAgainst::kBuckets).kind, Kind::kAxis);
  EXPECT_EQ(at.hit({20, 10}, OrderAgainst::kBuckets).kind, Kind::kNothing);
}

TEST_F(BucketsLayoutTest, InOrderDotsFallAndAnInversionRises) {
  const BucketsLayout at = layout();
  const auto y = [&](int rank, std::uint32_t parameter) {
    return at.dot(rank, parameter, OrderAgainst::kBuckets)->y();
  };
  EXPECT_LT(y(0, 3), y(0, 2));
  EXPECT_LT(y(0, 2), y(0, 1));
  EXPECT_LT(y(0, 1), y(0, 0));
  // Rank 1: 1 before 3, which stands above it.
  EXPECT_LT(at.dot(1, 1, OrderAgainst::kBuckets)->x(), at.dot(1, 3, OrderAgainst::kBuckets)->x());
  EXPECT_GT(y(1, 1), y(1, 3));
}

TEST_F(BucketsLayoutTest, ManyBucketsScrollAndTheOrderStaysInSight) {
  trace::RunUpdate update = test::BucketRun().update;
  auto& buckets = (*update.layouts)[1].buckets;
  buckets.resize(60, buckets.back());
  RunModel model;
  model.applyUpdate(update);
  const auto story = BucketStories(model).ofStep(1);
  const BucketsLayout at(*story, {1000, 500}, wholeTime(*story), 0, 0);
  EXPECT_GT(at.maximumRowScroll(), 0);
  EXPECT_GT(at.orderArea().height(), 60);
  EXPECT_LE(at.orderArea().bottom(), 500.5);
  const double scroll = at.scrollTo(59);
  const BucketsLayout below(*story, {1000, 500}, wholeTime(*story), scroll, 0);
  EXPECT_TRUE(below.rowsArea().contains(below.row(59).center()));
}

TEST_F(BucketsLayoutTest, NarrowParametersBecomeOneCellWithACount) {
  trace::RunUpdate update = test::BucketRun().update;
  (*update.layouts)[1].buckets[0].bytes = 400'000;
  (*update.layouts)[1].buckets[0].limitBytes = 400'000;
  RunModel model;
  model.applyUpdate(update);
  const auto story = BucketStories(model).ofStep(1);
  const BucketsLayout at(*story, {1000, 500}, wholeTime(*story), 0, 0);
  const auto cells = at.cells(1);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].count, 2);
  EXPECT_GE(cells[0].rect.width(), 3);
}

TEST_F(BucketsLayoutTest, TheSceneNamesWhatStandsOutInWords) {
  const DisplayList list = drawn();
  EXPECT_TRUE(holds(list, QStringLiteral("3 buckets, 400 B, rebuilt from the ready order")));
  EXPECT_TRUE(holds(list, QStringLiteral("Iteration 1")));
  EXPECT_TRUE(holds(list, QStringLiteral("in bucket order")));
  EXPECT_TRUE(holds(list, QStringLiteral("▲ 1 of 4 out of bucket order")));
  EXPECT_TRUE(holds(list, QStringLiteral("✚ 1 in another place than on rank 0")));
}

TEST_F(BucketsLayoutTest, AMarkSaysWhereComputingEnds) {
  const DisplayList list = drawn();
  EXPECT_TRUE(holds(list, QStringLiteral("computing ends")));
  const BucketsLayout at = layout();
  const QRgb colour = Palette::of(Theme::kLight).tone(Tone::kBackward).rgba();
  const auto marks = [&](const QRectF& within, double microseconds) {
    const double x = at.axis().toX(microseconds * 1e3);
    return std::ranges::count_if(list.commands(), [&](const DisplayList::Command& command) {
      return command.op == DisplayList::Op::kFill && command.colour == colour &&
             within.adjusted(0, -3, 0, 3).contains(command.rect) &&
             std::abs(command.rect.center().x() - x) < 1;
    });
  };
  for (int bucket = 0; bucket < 3; ++bucket) {
    EXPECT_EQ(marks(at.strip(bucket, 0), 400), 1) << bucket;
    EXPECT_EQ(marks(at.strip(bucket, 1), 450), 1) << bucket;
  }
  EXPECT_EQ(marks(at.timesColumn(), 450), 4) << "and the line through all of them";
  BucketsFrame frame;
  frame.replayNs = 440e3;
  EXPECT_FALSE(holds(drawn(frame), QStringLiteral("computing ends"))) << "beside other words";
}

TEST_F(BucketsLayoutTest, WhereComputingEndsIsSaidWhereItHidesOneTimeOfTheAxisAtMost) {
  for (int width = 1000; width <= 3200; width += 50) {
    const BucketsLayout at = layout({static_cast<double>(width), 600});
    const DisplayList list = drawn({}, width);
    const auto isTime = [&](const DisplayList::Command& command) {
      return command.op == DisplayList::Op::kText && command.rect.top() == 22 &&
             command.rect.left() >= at.timesColumn().left();
    };
    const auto ticks = at.axis().ticks(70);
    const auto all = std::ranges::count_if(ticks, [&](const TimeAxis::Tick& tick) {
      return tick.major && tick.x >= at.timesColumn().left() &&
             tick.x < at.timesColumn().right() - 20;
    });
    EXPECT_GE(std::ranges::count_if(list.commands(), isTime), all - 1) << width;
    EXPECT_TRUE(holds(list, QStringLiteral("computing ends"))) << width;
  }
}

// The backward goes on to 700 and has its last gradient at 400 on rank 0, at 450 on rank 1.
TEST_F(BucketsLayoutTest, WhatIsExposedOfABucketIsMarkedAndSaid) {
  test::BucketRun run;
  for (const int rank : {0, 1}) {
    run.add(2 * rank, trace::EventKind::kBackward, 1050, 1700, 1);
  }
  EXPECT_TRUE(story_->exposedOn(0, 0).empty()) << "what is computed was not recorded";
  RunModel model;
  model.applyUpdate(run.update);
  story_ = BucketStories(model).ofStep(1);
  EXPECT_EQ(story_->exposedOn(0, 0), (analysis::Intervals{{2400, 2500}}));
  EXPECT_EQ(story_->exposedOn(1, 0), (analysis::Intervals{{2450, 2500}}));
  BucketsFrame frame;
  const BucketsLayout at = layout();
  frame.pointer = at.strip(0, 0).center();
  frame.hovered = at.hit(*frame.pointer, OrderAgainst::kBuckets);
  const DisplayList list = drawn(frame);
  EXPECT_TRUE(holds(list, QStringLiteral("100 µs of it: nothing was computed meanwhile")));
  const QRgb colour = Palette::of(Theme::kLight).tone(Tone::kWait).rgba();
  EXPECT_TRUE(std::ranges::any_of(list.commands(), [&](const DisplayList::Command& command) {
    return command.op == DisplayList::Op::kFill && command.colour == colour &&
           std::abs(command.rect.left() - at.axis().toX(400e3)) < 0.01 &&
           std::abs(command.rect.bottom() - at.strip(0, 0).bottom()) < 0.01;
  }));
}

TEST_F(BucketsLayoutTest, TheReplaySaysWhereEachBucketIs) {
  BucketsFrame frame;
  frame.replayNs = 300e3;  // rank 1: bucket 1 ready at 260, bucket 0 not before 360
  const DisplayList list = drawn(frame);
  EXPECT_TRUE(holds(list, QStringLiteral("filling, 50 %"))) << "bucket 0: on rank 0 only";
  EXPECT_TRUE(holds(list, QStringLiteral("empty"))) << "bucket 2";
  frame.replayNs = 340e3;
  EXPECT_TRUE(holds(drawn(frame), QStringLiteral("stalled behind b0"))) << "bucket 1";
  frame.replayNs = 650e3;
  const DisplayList later = drawn(frame);
  EXPECT_TRUE(holds(later, QStringLiteral("done")));
  EXPECT_TRUE(holds(later, QStringLiteral("in flight"))) << "bucket 2";
}

TEST_F(BucketsLayoutTest, ATooltipTellsTheTimesOfABucketOnARank) {
  BucketsFrame frame;
  const BucketsLayout at = layout();
  frame.pointer = at.strip(1, 1).center();
  frame.hovered = at.hit(*frame.pointer, OrderAgainst::kBuckets);
  const DisplayList list = drawn(frame);
  EXPECT_TRUE(holds(list, QStringLiteral("bucket 1 on rank 1")));
  EXPECT_TRUE(holds(list, QStringLiteral("0.250 ms, a.bias")));
  EXPECT_TRUE(holds(list, QStringLiteral("stalled 102 µs behind bucket 0")));
}

TEST_F(BucketsLayoutTest, TheCostOfAFrameGrowsWithPixelsAndNotWithParameters) {
  trace::RunUpdate update = test::BucketRun().update;
  auto& bucket = (*update.layouts)[1].buckets[1];
  for (std::uint32_t parameter = 4; parameter < 20'000; ++parameter) {
    bucket.parameters.push_back(parameter);
    bucket.offsets.push_back(bucket.bytes);
    bucket.bytes += 100;
  }
  for (auto& span : update.spans) {
    span.id += 20'000;
  }
  for (std::uint32_t parameter = 4; parameter < 20'000; ++parameter) {
    trace::SpanRow span = update.spans[11];
    span.id = parameter;
    span.kind = trace::EventKind::kGradientReady;
    span.bucket = trace::kNoBucket;
    span.startTicks = 2210 + parameter / 400;
    span.durationTicks = 0;
    span.step = 1;
    span.track = 0;
    span.value = parameter;
    update.spans.push_back(span);
  }
  RunModel model;
  model.applyUpdate(update);
  const auto story = BucketStories(model).ofStep(1);
  ASSERT_GT(story->orders[0].gradients.size(), 19'000u);
  BucketsFrame frame;
  frame.size = {1200, 600};
  frame.shown = wholeTime(*story);
  DisplayList list;
  BucketsScene(*story, Palette::of(Theme::kLight), frame).draw(list);
  EXPECT_LT(list.commands().size(), 3000u);
}

TEST_F(BucketsLayoutTest, TheSelectedRankIsMarkedWhateverItsPlace) {
  auto story = std::make_shared<BucketStory>(*story_);
  for (analysis::BucketLife& life : story->lives) {
    life.ranks[0].rank = 2;
    life.ranks[1].rank = 3;
  }
  story_ = story;
  BucketsFrame frame;
  frame.selectedBucket = 1;
  frame.selectedRank = 3;
  const DisplayList list = drawn(frame);
  QStringList marked;
  for (const auto& command : list.commands()) {
    if (command.op == DisplayList::Op::kText &&
        command.colour == Palette::of(Theme::kLight).accent.rgba()) {
      marked << list.textOf(command);
    }
  }
  EXPECT_TRUE(marked.contains(QStringLiteral("r3")));
  EXPECT_FALSE(marked.contains(QStringLiteral("r2")));
}

TEST(FittingName, KeepsTheLastPartsOfALongName) {
  const QString name = QStringLiteral("layer4.1.conv2.weight");
  EXPECT_EQ(fittingName(name, 1000), name);
  EXPECT_EQ(fittingName(name, 1), QStringLiteral("weight"));
}

}  // namespace
}  // namespace lockstep::ui

#include "engine/trace/Event.h"
#include "ui/views/timeline/TimelineScene.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"
#include "tests/ui/views/timeline/TimelineSceneFixture.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {
namespace {

using testing::Contains;
using testing::Not;
using trace::EventKind;
using Op = DisplayList::Op;

class TimelineSceneTest : public TimelineSceneFixture {};

TEST_F(TimelineSceneTest, PutsABarWhereItsTimeIs) {
  load();
  showStep(20);
  const Span forward = first(EventKind::kForward, 20);
  const TimeAxis axis = TimelineScene::axisFor(frame_.size.width(), frame_.range);
  const auto rect = scene().rectOf(forward);
  ASSERT_TRUE(rect.has_value());
  EXPECT_NEAR(rect->left(), axis.toX(forward.startNs), 1e-6);
  EXPECT_NEAR(rect->right(), axis.toX(forward.endNs()), 1e-6);
  EXPECT_TRUE(fills(draw(), *rect, Palette::of(Theme::kLight).tone(Tone::kForward)));
}

TEST_F(TimelineSceneTest, NamesRanksLanesIterationsAndTimes) {
  load();
  const auto texts = draw().texts();
  for (const char* text : {"Rank 0", "Rank 1", "Phases", "Gradients", "Hook", "Communication"}) {
    EXPECT_THAT(texts, Contains(QString::fromLatin1(text)));
  }
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& text) {
    return text.startsWith(QLatin1String("iteration ")) && text.contains(QStringLiteral(" · "));
  }));
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(),
                          [](const QString& text) { return text.endsWith(QLatin1String(" ms")); }));
}

TEST_F(TimelineSceneTest, LabelsOfTheRulerNeverTouch) {
  load();
  const auto step = model_.step(0, 30);
  for (const double length : {10.0, 57.0, 1e3, 1e5, 1e7, 1.3e9}) {
    frame_.range = {step->startNs, step->startNs + length};
    const DisplayList list = draw();
    std::vector<QRectF> labels;
    for (const auto& command : list.commands()) {
      const bool inTimes = command.rect.top() >= timeline_metrics::kIterationHeight &&
                           command.rect.bottom() < timeline_metrics::kRulerHeight;
      if (command.op == Op::kText && inTimes &&
          command.rect.left() >= timeline_metrics::kLabelWidth) {
        labels.push_back(command.rect);
      }
    }
    EXPECT_GE(labels.size(), 3u) << length;
    for (std::size_t i = 1; i < labels.size(); ++i) {
      EXPECT_GT(labels[i].left(), labels[i - 1].right() + 4) << length;
    }
  }
}

TEST_F(TimelineSceneTest, NoIterationNumberIsCutAtTheRightEdge) {
  load({.steps = 400});
  const double start = model_.extent().startNs;
  int numbers = 0;
  for (std::uint32_t last = 350; last < 400; ++last) {  // the edge moves over a label
    frame_.range = {start, model_.step(0, last)->endNs};
    const DisplayList list = draw();
    for (const auto& command : list.commands()) {
      if (command.op != Op::kText || command.rect.top() > timeline_metrics::kIterationHeight / 2 ||
          command.rect.left() < timeline_metrics::kLabelWidth) {
        continue;
      }
      ++numbers;
      EXPECT_LE(command.rect.left() + textWidth(list.textOf(command), FontRole::kSmall),
                frame_.size.width())
          << list.textOf(command).toStdString();
    }
  }
  EXPECT_GT(numbers, 50);
}

TEST_F(TimelineSceneTest, AnIterationHalfOutOfSightIsNumberedOnlyWhereTheNumberFits) {
  load();
  const auto step = model_.step(0, 20);
  const double length = step->endNs - step->startNs;
  int numbered = 0;
  int bare = 0;
  for (int part = 0; part < 50; ++part) {
    const double start = step->startNs + length * part / 50;
    frame_.range = {start, start + 3 * length};
    const DisplayList list = draw();
    const int before = numbered;
    for (const auto& command : list.commands()) {
      if (command.op == Op::kText && command.rect.top() < timeline_metrics::kIterationHeight / 2 &&
          list.textOf(command) == "20") {
        ++numbered;
        EXPECT_GE(command.rect.width(), textWidth("20", FontRole::kSmall) + 6) << part;
      }
    }
    bare += numbered == before ? 1 : 0;
  }
  EXPECT_GT(numbered, 0);
  EXPECT_GT(bare, 0);
}

TEST_F(TimelineSceneTest, DrawsWaitingForALateRankHatchedAndTheTransferSolid) {
  test::DemoOptions options;
  options.slowFactor = 1.5;
  load(options);
  showStep(20);
  const Span onFast = first(EventKind::kCollective, 20, 0);
  const Span onSlow = first(EventKind::kCollective, 20, 1);
  const TimeAxis axis = TimelineScene::axisFor(frame_.size.width(), frame_.range);
  const DisplayList list = draw();
  const auto rect = scene().rectOf(onFast);
  const double arrived = axis.toX(onSlow.startNs);
  const bool hatched =
      std::any_of(list.commands().begin(), list.commands().end(), [&](const auto& command) {
        return command.op == Op::kHatch && std::abs(command.rect.left() - rect->left()) < 0.01 &&
               std::abs(command.rect.right() - arrived) < 0.01 &&
               command.rect.top() == rect->top();
      });
  EXPECT_TRUE(hatched);
  EXPECT_TRUE(fills(list, QRectF(arrived, rect->top(), rect->right() - arrived, rect->height()),
                    Palette::of(Theme::kLight).tone(Tone::kTransfer)));
}

TEST_F(TimelineSceneTest, DrawsACheckSolidOnlyFromTheTimeItsLastRankCame) {
  model_.applyUpdate(
      test::Feed()
          .span(2, EventKind::kChecked, 0, 900, 0, test::sequence(1), test::kAllreduce)
          .span(4, EventKind::kChecked, 600, 900, 0, test::sequence(1), test::kAllreduce)
          .take());
  layout_ = TimelineLayout(model_, {});
  frame_.size = QSizeF(1400, layout_.height() + 60);
  frame_.range = {0, 900};
  const DisplayList list = draw();
  EXPECT_EQ(count(list, Op::kHatch), 1) << "rank 0 waits, rank 1 does not";
  const TimeAxis axis = TimelineScene::axisFor(frame_.size.width(), frame_.range);
  const Span onFast = first(EventKind::kChecked, 0, 0);
  const auto rect = scene().rectOf(onFast);
  const double arrived = axis.toX(first(EventKind::kChecked, 0, 1).startNs);
  EXPECT_TRUE(fills(list, QRectF(arrived, rect->top(), rect->right() - arrived, rect->height()),
                    Palette::of(Theme::kLight).tone(Tone::kCheck)));
}

TEST_F(TimelineSceneTest, AShortBarSaysWhatItIsBesideItAsFarAsThereIsRoom) {
  test::Feed feed;
  std::uint32_t number = 0;
  // The first has 30 px until the next, that 8, and the last all the rest.
  for (const std::uint64_t start : {100, 140, 158}) {
    ++number;
    feed.span(2, EventKind::kCollective, start, start + 10, 0, test::sequence(number),
              test::kAllreduce);
    feed.span(4, EventKind::kCollective, start + 5, start + 10, 0, test::sequence(number),
              test::kAllreduce);
  }
  trace::RunUpdate run = feed.take();
  for (std::size_t i = 0; i < run.spans.size(); ++i) {
    run.spans[i].bucket = static_cast<std::uint16_t>(i / 2);
  }
  model_.applyUpdate(run);
  layout_ = TimelineLayout(model_, {});
  frame_.size = QSizeF(timeline_metrics::kLabelWidth + 1000, layout_.height() + 60);
  frame_.range = {0, 1000};  // a pixel a nanosecond
  const DisplayList list = draw();
  std::vector<QString> beside;
  for (const auto& command : list.commands()) {
    const QString text = command.op == Op::kText ? list.textOf(command) : QString();
    if (text.startsWith(QLatin1Char('b'))) {
      beside.push_back(text);
      EXPECT_GE(command.rect.left(), timeline_metrics::kLabelWidth + 110);
    }
  }
  std::ranges::sort(beside);
  EXPECT_EQ(std::ranges::count(beside, QString("b0")), 3) << "World and both ranks";
  EXPECT_EQ(std::ranges::count(beside, QString("b1")), 0) << "no room";
  EXPECT_EQ(std::ranges::count(beside, QString("b2")), 2) << "the ranks";
  EXPECT_EQ(std::ranges::count(beside, QString("b2 · rank 1 last, 5.00 ns")) +
                std::ranges::count(beside, QString("b2 · rank 1 last, 5 ns")),
            1);
}

TEST_F(TimelineSceneTest, SaysHowManyEventsWereLostAndWhere) {
  test::DemoOptions options;
  options.gapOnRank0 = true;
  load(options);
  showStep(10);
  EXPECT_THAT(draw().texts(), Contains(QString("412 events lost")));
  showStep(30);
  EXPECT_THAT(draw().texts(), Not(Contains(QString("412 events lost"))));
}

TEST_F(TimelineSceneTest, JoinsTheSelectedCollectiveAcrossRanksAndNamesTheLateOne) {
  test::DemoOptions options;
  options.slowFactor = 1.5;
  load(options);
  showStep(20);
  const int before = count(draw(), Op::kPolygon);
  frame_.selection = first(EventKind::kCollective, 20, 0);
  const DisplayList list = draw();
  EXPECT_GE(count(list, Op::kPolygon), before + 2) << "the ribbon and the mark of the late rank";
  const auto texts = list.texts();
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& text) {
    return text.startsWith(QLatin1String("rank 1 last, ")) && text.endsWith(QLatin1String(" late"));
  }));
}

TEST_F(TimelineSceneTest, NamesNobodyLastWhomTheClocksOfTwoHostsCannotTell) {
  struct Drawn {
    std::string texts;
    int hatched = 0;
  };
  const auto draws = [](std::int64_t uncertaintyNs) {
    RunModel model;
    model.applyUpdate(
        test::Feed()
            .onTwoHosts(uncertaintyNs)
            .span(2, EventKind::kCollective, 0, 90'000, 0, test::sequence(1), test::kAllreduce)
            .span(4, EventKind::kCollective, 30'000, 90'000, 0, test::sequence(1), test::kAllreduce)
            .take());
    const TimelineLayout layout(model, {});
    TimelineFrame frame;
    frame.size = QSizeF(1400, layout.height() + 60);
    frame.range = {0, 90'000};
    frame.selection = model.findSpan(laneId(0, LaneRole::kCommunication), 1, 10);
    DisplayList list;
    TimelineScene(model, layout, Palette::of(Theme::kLight), frame).draw(list);
    Drawn drawn{{}, count(list, Op::kHatch)};
    for (const QString& text : list.texts()) {
      drawn.texts += text.toStdString() + '|';
    }
    return drawn;
  };
  const Drawn unclear = draws(31'000);
  const Drawn clear = draws(29'000);
  EXPECT_THAT(unclear.texts, testing::HasSubstr("last rank unclear, 30.0 µs"));
  EXPECT_THAT(unclear.texts, Not(testing::HasSubstr("rank 1 last")));
  EXPECT_THAT(clear.texts, testing::HasSubstr("rank 1 last, 30.0 µs late"));
  EXPECT_EQ(clear.hatched, unclear.hatched + 1) << "rank 0 is drawn to wait only where it did";
}

TEST_F(TimelineSceneTest, ShowsFactsInATooltipThatStaysInside) {
  load();
  showStep(20);
  frame_.hovered = first(EventKind::kGradientReady, 20);
  for (const QPointF pointer :
       {QPointF(200, 100), QPointF(1395, 100), QPointF(700, frame_.size.height() - 2)}) {
    frame_.pointer = pointer;
    const DisplayList list = draw();
    const auto title = placeOf(list, QStringLiteral("gradient ready: fc3.bias"));
    ASSERT_TRUE(title.has_value());
    const auto last = placeOf(list, QStringLiteral("Thread"));
    ASSERT_TRUE(last.has_value());
    EXPECT_TRUE(QRectF(QPointF(0, 0), frame_.size).contains(*title));
    EXPECT_TRUE(QRectF(QPointF(0, 0), frame_.size).contains(*last));
  }
}

TEST_F(TimelineSceneTest, MeasuresTheBand) {
  load();
  frame_.measured = TimeRange{frame_.range.startNs + 1e6, frame_.range.startNs + 3.5e6};
  EXPECT_THAT(draw().texts(), Contains(QString("2.50 ms")));
}

TEST_F(TimelineSceneTest, ColoursByBucketWhenAsked) {
  load();
  showStep(20);
  const Span collective = first(EventKind::kCollective, 20);
  const Palette& palette = Palette::of(Theme::kLight);
  EXPECT_EQ(colourOf(collective, ColourBy::kBucket, palette), palette.bucket(collective.bucket));
  EXPECT_EQ(colourOf(first(EventKind::kForward, 20), ColourBy::kBucket, palette),
            palette.tone(Tone::kNeutral));
  EXPECT_EQ(colourOf(collective, ColourBy::kHook, palette), palette.tone(Tone::kNeutral));
  EXPECT_EQ(colourOf(collective, ColourBy::kWait, palette), palette.tone(Tone::kTransfer));
}

TEST_F(TimelineSceneTest, OutlinesACollectiveOfWhichARankHasNoRecord) {
  model_.applyUpdate(
      test::Feed()
          .span(2, EventKind::kCollective, 0, 900, 0, test::sequence(1), test::kAllreduce)
          .span(4, EventKind::kCollective, 500, 900, 0, test::sequence(1), test::kAllreduce)
          .span(2, EventKind::kCollective, 1000, 1900, 1, test::sequence(2), test::kAllreduce)
          .take());
  layout_ = TimelineLayout(model_, {});
  frame_.size = QSizeF(1400, layout_.height() + 60);
  frame_.range = {0, 900};
  const DisplayList known = draw();
  EXPECT_EQ(count(known, Op::kOutline), 0);
  EXPECT_GT(count(known, Op::kHatch), 0);
  frame_.range = {1000, 1900};
  const DisplayList unknown = draw();
  EXPECT_EQ(count(unknown, Op::kOutline), 2) << "of the rank, and of all together";
  EXPECT_EQ(count(unknown, Op::kHatch), 0);
}

TEST_F(TimelineSceneTest, DrawsNoMoreWhenARunIsLongButLooksFromFar) {
  test::DemoOptions options;
  options.steps = 2000;
  load(options);
  ASSERT_GT(model_.spanCount(), 250'000u);
  frame_.range = model_.extent();
  const DisplayList list = draw();
  EXPECT_LT(list.commands().size(), 14'000u);
  const auto texts = list.texts();
  EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [](const QString& text) {
    return text.endsWith(QLatin1String(" spans"));
  })) << "folds say how many they hold";
}

TEST_F(TimelineSceneTest, AWaitForACoreIsFilledByThePartThatWasWaitedAndSaysBoth) {
  model_.applyUpdate(test::Feed().span(1, EventKind::kOffCore, 100, 900, 0, 200).take());
  layout_ = TimelineLayout(model_, {});
  frame_.size = QSizeF(timeline_metrics::kLabelWidth + 1000, layout_.height() + 60);
  frame_.range = {0, 1000};
  const Palette& palette = Palette::of(Theme::kLight);
  const DisplayList list = draw();
  const QRectF bar = *scene().rectOf(first(EventKind::kOffCore, 0));
  EXPECT_FALSE(fills(list, bar, palette.tone(Tone::kFault)));
  EXPECT_TRUE(fills(list, bar, mixed(palette.tone(Tone::kFault), palette.background, 0.15)));
  const QRectF quarter = bar.adjusted(0, bar.height() * 0.75, 0, 0);
  EXPECT_TRUE(fills(list, quarter, mixed(palette.tone(Tone::kFault), palette.background, 0.7)));
  EXPECT_THAT(list.texts(), Contains(QString("no core 200 ns of 800 ns")));
  EXPECT_THAT(list.texts(), Not(Contains(QString("800 ns"))));
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    const DisplayList drawn = draw(theme);
    QColor ink;
    for (const auto& command : drawn.commands()) {
      if (command.op == Op::kText && drawn.textOf(command).startsWith("no core")) {
        ink = QColor::fromRgba(command.colour);
      }
    }
    for (const auto& command : drawn.commands()) {
      if (command.op == Op::kFill && bar.contains(command.rect)) {
        EXPECT_GE(contrastRatio(ink, QColor::fromRgba(command.colour)), 4.5);
      }
    }
  }
}

TEST_F(TimelineSceneTest, NeverOverlapsRowsLanesOrRanks) {
  load();
  double bottom = 0;
  for (const auto& rank : layout_.ranks()) {
    EXPECT_GE(rank.top, bottom);
    bottom = rank.top + timeline_metrics::kRankHeader;
    for (const auto& lane : rank.lanes) {
      EXPECT_GE(lane.top, bottom);
      bottom = lane.top;
      for (const auto& row : lane.rows) {
        EXPECT_GE(row.top, bottom);
        bottom = row.top + row.height;
      }
      EXPECT_LE(bottom, lane.top + lane.height);
      bottom = lane.top + lane.height;
    }
  }
  EXPECT_LE(bottom, layout_.height());
}

TEST_F(TimelineSceneTest, WordsOnACollectiveThatARankDidNotRecordCanBeRead) {
  trace::RunUpdate run = test::demoRun();
  std::set<std::int32_t> tracks;
  for (const trace::TrackInfo& track : *run.tracks) {
    if (track.rank == 1) {
      tracks.insert(track.id);
    }
  }
  std::erase_if(run.spans, [&](const trace::SpanRow& span) {
    return span.kind == EventKind::kCollective && span.step == 10 && tracks.contains(span.track);
  });
  model_.applyUpdate(run);
  layout_ = TimelineLayout(model_, {});
  frame_.size = QSizeF(1400, layout_.height() + 60);
  const Span alone = first(EventKind::kCollective, 10);
  frame_.range = {alone.startNs, alone.endNs()};
  const QString said = QStringLiteral("b%1 · 1 of 2 ranks recorded it").arg(alone.bucket);
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    const DisplayList list = draw(theme);
    const auto words = std::ranges::find_if(list.commands(), [&](const auto& command) {
      return command.op == Op::kText && list.textOf(command) == said;
    });
    ASSERT_NE(words, list.commands().end());
    const Palette palette = Palette::of(theme);
    const QColor ground = mixed(palette.bucket(alone.bucket), palette.background, 0.3);
    EXPECT_EQ(words->colour, Palette::textOn(ground).rgba());
  }
}

TEST_F(TimelineSceneTest, AForecastStandsBetweenWorldAndTheRanks) {
  load();
  showStep(20);
  const double start = frame_.range.startNs;
  const ForecastIteration forecast{.change = "cap 8 MiB",
                                   .step = 20,
                                   .buckets = {{start + 1e6, start + 2e6, start + 3e6},
                                               {start + 2e6, start + 3e6, start + 5e6}},
                                   .rows = 1,
                                   .startNs = start,
                                   .endNs = start + 6e6,
                                   .leastEndNs = start + 5.5e6,
                                   .mostEndNs = start + 6.5e6};
  const double world = layout_.world().top + layout_.world().height;
  EXPECT_THAT(draw().texts(), Not(Contains("Forecast")));
  layout_ = TimelineLayout(model_, {}, {.forecastRows = forecast.rows});
  EXPECT_GE(layout_.forecast().top, world);
  EXPECT_GE(layout_.ranks().front().top, layout_.forecast().top + layout_.forecast().height);
  frame_.forecast = &forecast;
  frame_.range.endNs = start + 40e6;
  const DisplayList list = draw();
  EXPECT_THAT(list.texts(), Contains("Forecast"));
  EXPECT_THAT(list.texts(), Contains("iteration 20 with cap 8 MiB"));
  EXPECT_THAT(list.texts(), Contains("b1"));
}

TEST_F(TimelineSceneTest, ClipsAndUnclipsInPairs) {
  load();
  frame_.selection = first(EventKind::kCollective, 20);
  const DisplayList list = draw(Theme::kDark);
  int depth = 0;
  for (const auto& command : list.commands()) {
    depth += command.op == Op::kClip ? 1 : command.op == Op::kUnclip ? -1 : 0;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
}

}  // namespace
}  // namespace lockstep::ui

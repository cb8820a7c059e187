#include "ui/views/overlap/BucketScene.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/Diagnose.h"
#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"
#include "tests/ui/views/overlap/HandMadeContent.h"
#include "ui/views/overlap/OverlapTables.h"

namespace lockstep::ui {
namespace {

using analysis::HandMadeRun;

constexpr std::size_t kWide = 1000;

const Palette& lightCells() {
  return Palette::of(Theme::kLight);
}

std::shared_ptr<const BucketContent> cellsOf(const HandMadeRun& run) {
  AnalysedRun analysed;
  analysed.data = run.data();
  analysed.analysis = analysis::analyse(analysed.data);
  return bucketContent(analysed);
}

/// All that is written; sentences may be broken into lines.
QString cellsText(const DisplayList& list) {
  QString all;
  for (const QString& text : list.texts()) {
    all += text + QLatin1Char(' ');
  }
  return all;
}

bool cellsSay(const DisplayList& list, const QString& part) {
  return cellsText(list).contains(part);
}

BucketFrame cellFrame(CellFigure figure = CellFigure::kCost) {
  BucketFrame frame;
  frame.size = {kWide, 600};
  frame.choice.figure = figure;
  return frame;
}

DisplayList cellsDrawn(const BucketContent& content, const BucketFrame& frame) {
  DisplayList list;
  BucketScene(content, lightCells(), frame).draw(list);
  return list;
}

/// Bucket 3 of two ranks, `late` ms apart in steps of 100 ms that compute for 50: rank 0 comes at
/// 50, and transfer takes 3 ms.
HandMadeRun lateRun(const std::vector<double>& late) {
  HandMadeRun run(2);
  for (std::uint32_t step = 0; step < late.size(); ++step) {
    const std::uint64_t begin = 100'000ULL * step;
    const auto came = begin + 50'000 + static_cast<std::uint64_t>(late[step] * 1000);
    for (int rank = 0; rank < 2; ++rank) {
      run.add(rank, trace::EventKind::kStep, begin, begin + 100'000, step);
      run.add(rank, trace::EventKind::kBackward, begin, begin + 50'000, step);
      run.addCollective(rank, rank == 0 ? begin + 50'000 : came, came + 3'000, step, step);
    }
  }
  return run;
}

/// Rank 1 comes 20 ms late in 21 of 28 measured steps.
std::vector<double> mostlyLate() {
  std::vector<double> late;
  for (int step = 0; step <= 28; ++step) {
    late.push_back(step % 4 == 0 ? 0 : 20);
  }
  return late;
}

TEST(BucketSceneTest, TheHeadlineNamesTheBucketTheRankAndTheCulprit) {
  const auto content = cellsOf(lateRun(mostlyLate()));
  // 21 steps of 23 ms, 7 of 3 ms.
  EXPECT_TRUE(cellsSay(
      cellsDrawn(*content, cellFrame()),
      "Bucket 3 costs most, 18.00 ms a step (mean) on rank 0, because rank 1 is late, in 21 of "
      "28 iterations"));
}

TEST(BucketSceneTest, TheHeadlineAccusesNobodyWithinChance) {
  const auto content = cellsOf(lateRun(std::vector<double>(20, 0)));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()), "3.00 ms a step (mean) on rank 0") ||
              cellsSay(cellsDrawn(*content, cellFrame()), "No bucket stands out"));
  EXPECT_FALSE(cellsSay(cellsDrawn(*content, cellFrame()), "is late"));
}

TEST(BucketSceneTest, ShowsEachFigureAndWhatIsUnknown) {
  const auto content = cellsOf(lateRun({0, 3, 3}));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()), "Cost by rank and bucket, in ms a step"));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()),
                       "In flight while this rank computed nothing, each moment given to one "
                       "bucket: what it adds to the step."));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame(CellFigure::kExposed)),
                       "In flight while this rank computed nothing; buckets in flight together "
                       "count the same time each."));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()), "6.00 ms"));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()), "unknown"))
      << "buckets 0 to 2 were not sent";
  EXPECT_TRUE(
      cellsSay(cellsDrawn(*content, cellFrame(CellFigure::kLateness)), "Arrival lateness by rank"));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame(CellFigure::kLateness)), "3.00 ms"));
  EXPECT_EQ(content->valueOf(std::size_t{0}, 3, {CellFigure::kDuration}), 6);
  EXPECT_EQ(content->valueOf(std::size_t{1}, 3, {CellFigure::kDuration}), 3);
  const BucketPlace place{1, 3};
  const BucketScene scene(*content, lightCells(), cellFrame());
  EXPECT_EQ(scene.placeAt(scene.rectOf(place).center()), place);
}

TEST(BucketSceneTest, TheMeanTheMedianAndOneIterationAreToldApart) {
  const auto content = cellsOf(lateRun({0, 0, 0, 30}));
  const auto ms = [&](CellScope scope, std::uint32_t step = 0) {
    return content->valueOf(std::size_t{0}, 3, {CellFigure::kCost, scope, step});
  };
  EXPECT_EQ(ms(CellScope::kMean), 13);
  EXPECT_EQ(ms(CellScope::kMedian), 3);
  EXPECT_EQ(ms(CellScope::kStep, 3), 33);
  EXPECT_EQ(ms(CellScope::kStep, 7), std::nullopt);
  EXPECT_EQ(content->sampleOf(0, 3, {})->step, 3u) << "the worst";
  BucketFrame frame = cellFrame();
  frame.choice = {CellFigure::kCost, CellScope::kStep, 3};
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, frame), "Of iteration 3"));
}

TEST(BucketSceneTest, TheEdgesAreSumsAndOfLatenessTheMost) {
  const auto content = cellsOf(lateRun({0, 3, 3}));
  // It costs rank 0 6 ms, rank 1 3 ms.
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()), "9.00 ms"));
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()),
                       "At the edges: the sums. Exposed time in which it had no core, or outside of "
                       "buckets, is in none."));
  EXPECT_FALSE(cellsSay(cellsDrawn(*content, cellFrame(CellFigure::kLateness)), "9.00 ms"));
  EXPECT_TRUE(
      cellsSay(cellsDrawn(*content, cellFrame(CellFigure::kLateness)), "At the edges: the most."));
}

/// Two buckets of both ranks in flight together after the computing: of bucket 4 more is exposed,
/// and bucket 3, which began first, has the time.
HandMadeRun bucketsTogether() {
  HandMadeRun run(2);
  for (std::uint32_t step = 0; step <= 28; ++step) {
    const std::uint64_t begin = 100'000ULL * step;
    for (int rank = 0; rank < 2; ++rank) {
      run.add(rank, trace::EventKind::kStep, begin, begin + 100'000, step);
      run.add(rank, trace::EventKind::kBackward, begin, begin + 50'000, step);
      run.addCollective(rank, begin + 52'000, begin + 90'000, 2 * step, step);
      run.addCollective(rank, begin + 53'000, begin + 95'000, 2 * step + 1, step);
      run.spans.back().bucket = 4;
    }
  }
  return run;
}

// The card in front of the views, the headline, and the darkest cell.
TEST(BucketSceneTest, TheDarkestCellTheHeadlineAndTheVerdictNameOneBucket) {
  for (const HandMadeRun& run : {bucketsTogether(), lateRun(mostlyLate())}) {
    const auto content = cellsOf(run);
    diagnosis::Recording recording;
    recording.data = run.data();
    const diagnosis::Diagnosis found =
        diagnosis::diagnose(diagnosis::evidenceOf(recording, "run.lockstep"));
    const auto cost =
        std::ranges::find(found.verdict, diagnosis::Topic::kCost, &diagnosis::Remark::topic);
    ASSERT_NE(cost, found.verdict.end());
    ASSERT_TRUE(content->verdict.costliest.has_value());
    EXPECT_EQ(content->verdict.costliest->bucket, 3);
    EXPECT_EQ(cost->place.bucket, 3);
    const int rank = content->verdict.costliest->rank;
    EXPECT_EQ(cost->place.rank, rank);
    const std::size_t row = *content->indexOf(rank);
    for (std::size_t other = 0; other < content->delays.ranks.size(); ++other) {
      for (int bucket = 0; bucket < content->delays.buckets; ++bucket) {
        EXPECT_LE(content->valueOf(other, bucket, {}).value_or(0), *content->valueOf(row, 3, {}));
      }
    }
    const QString figure =
        QString::fromStdString(base::msText(*content->valueOf(row, 3, {})) + " ms a step (mean)");
    EXPECT_TRUE(QString::fromStdString(cost->brief).endsWith(figure)) << cost->brief;
    const char* upTo = content->verdict.costliest->everywhere ? "up to " : "";
    EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()),
                         QStringLiteral("Bucket 3 costs most, ") + upTo + figure));
  }
}

TEST(BucketSceneTest, WhatIsHiddenAndWhatIsExposedStandsAboveTheCells) {
  const AnalysedRun run = test::handMadeRun(12);
  const auto content = bucketContent(run);
  EXPECT_EQ(content->headline, overlapContent(run)->headline) << "as above the iterations";
  const BucketFrame frame = cellFrame();
  const DisplayList list = cellsDrawn(*content, frame);
  const auto words = std::ranges::find_if(list.commands(), [&](const auto& command) {
    return command.op == DisplayList::Op::kText &&
           content->headline.endsWith(list.textOf(command));  // its last line
  });
  ASSERT_NE(words, list.commands().end()) << content->headline.toStdString();
  EXPECT_LT(words->rect.bottom(), BucketScene(*content, lightCells(), frame).rectOf({0, 0}).top());
}

TEST(BucketSceneTest, WordsOnADarkCellAreWhite) {
  const auto content = cellsOf(bucketsTogether());
  const DisplayList list = cellsDrawn(*content, cellFrame());
  int white = 0;
  QRgb ground = 0;
  QRectF cell;
  for (const DisplayList::Command& command : list.commands()) {
    if (command.op == DisplayList::Op::kFill) {
      ground = command.colour;
      cell = command.rect;
    } else if (command.op == DisplayList::Op::kText && cell.contains(command.rect) &&
               list.textOf(command).endsWith(QLatin1String("ms"))) {
      const double contrast = contrastRatio(QColor::fromRgba(ground), Qt::white);
      EXPECT_EQ(command.colour == QColor(Qt::white).rgba(), contrast >= 3.9) << contrast;
      white += contrast >= 3.9 ? 1 : 0;
    }
  }
  EXPECT_GT(white, 0);
}

TEST(BucketSceneTest, ACellIsShownIterationByIteration) {
  const auto content = cellsOf(lateRun(mostlyLate()));
  BucketFrame frame = cellFrame();
  const BucketScene first(*content, lightCells(), frame);
  EXPECT_EQ(first.shown(), (BucketPlace{0, 3})) << "the one that the headline names";
  frame.selected = BucketPlace{1, 3};
  const BucketScene scene(*content, lightCells(), frame);
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, frame), "rank 1, bucket 3, iteration by iteration"));
  const auto bars = scene.bars();
  ASSERT_TRUE(bars.has_value());
  const auto foot = bars->positionOf(7);
  ASSERT_TRUE(foot.has_value());
  ASSERT_NE(bars->sampleAt(*foot), nullptr);
  EXPECT_EQ(bars->sampleAt(*foot)->step, 7u);
  EXPECT_EQ(bars->positionOf(99), std::nullopt);
}

TEST(BucketSceneTest, InALowFrameTheCellsCanBeReadAndTheRestGivesWay) {
  const auto content = cellsOf(lateRun(mostlyLate()));
  BucketFrame frame = cellFrame();
  for (const QSizeF size : {QSizeF(714, 330), QSizeF(714, 250)}) {
    frame.size = size;
    const BucketScene scene(*content, lightCells(), frame);
    EXPECT_GE(scene.rectOf({0, 0}).height(), 18) << size.height();
    EXPECT_LT(scene.rectOf({1, 0}).bottom(), size.height());
    EXPECT_TRUE(cellsSay(cellsDrawn(*content, frame), "by rank and bucket, in ms a step."));
  }
  frame.size = {714, 330};
  const QString spoken = cellsText(cellsDrawn(*content, frame));
  EXPECT_TRUE(spoken.contains(content->headline.section(' ', -3))) << "not cut off";
}

// On a wide screen, too: 29 iterations on 2,300 pixels.
TEST(BucketSceneTest, CellsAndBarsUseTheWidthThatThereIs) {
  const auto content = cellsOf(lateRun(mostlyLate()));
  for (const double width : {1000.0, 2300.0}) {
    BucketFrame frame = cellFrame();
    frame.size = {width, 1000};
    const BucketScene scene(*content, lightCells(), frame);
    const QRectF last = scene.rectOf({0, content->delays.buckets - 1});
    EXPECT_GT(last.right() + last.width(), width - 24) << "with the column of the sums";
    EXPECT_LT(last.right() + last.width(), width);
    const auto foot = scene.bars()->positionOf(28);
    ASSERT_TRUE(foot.has_value());
    EXPECT_GT(foot->x(), 0.95 * width);
    EXPECT_LT(foot->x(), width);
  }
}

// Of few iterations bars are no walls, and the number of the last stands under it.
TEST(BucketSceneTest, TheNumberOfTheLastIterationStandsUnderItsBar) {
  const auto content = cellsOf(lateRun({0, 3, 3}));
  BucketFrame frame = cellFrame();
  frame.size = {2300, 1000};
  frame.selected = BucketPlace{0, 3};
  const BucketScene scene(*content, lightCells(), frame);
  const auto foot = scene.bars()->positionOf(2);
  ASSERT_TRUE(foot.has_value());
  EXPECT_LT(foot->x(), 500);
  const DisplayList list = cellsDrawn(*content, frame);
  const auto number = std::ranges::find_if(list.commands(), [&](const DisplayList::Command& of) {
    return of.op == DisplayList::Op::kText && list.textOf(of) == QLatin1String("2") &&
           of.rect.top() > foot->y();
  });
  ASSERT_NE(number, list.commands().end());
  EXPECT_NEAR(number->rect.right(), foot->x(), 60);
}

TEST(BucketSceneTest, WhereIterationsShareABarTheCostliestStands) {
  std::vector<double> late(4000, 0);
  late[2001] = 30;
  const auto content = cellsOf(lateRun(late));
  BucketFrame frame = cellFrame();
  frame.selected = BucketPlace{0, 3};
  const BucketScene scene(*content, lightCells(), frame);
  const auto foot = scene.bars()->positionOf(2001);
  ASSERT_TRUE(foot.has_value());
  EXPECT_EQ(scene.bars()->sampleAt(*foot)->step, 2001u);
  EXPECT_EQ(scene.bars()->positionOf(2000)->x(), foot->x());
}

// Of 400 ranks, rank 397 comes late to all.
HandMadeRun manyRanksLate() {
  HandMadeRun run(400);
  for (std::uint32_t step = 0; step < 3; ++step) {
    for (int rank = 0; rank < 400; ++rank) {
      run.addCollective(rank, 100'000 * step + (rank == 397 ? 7'000 : 4'000),
                        100'000 * step + 10'000, step, step);
    }
  }
  return run;
}

TEST(BucketSceneTest, OfManyRanksKeepsTheLargestAndNamesIt) {
  const auto content = cellsOf(manyRanksLate());
  BucketFrame frame = cellFrame(CellFigure::kLateness);
  frame.folded = false;
  const DisplayList list = cellsDrawn(*content, frame);
  EXPECT_TRUE(cellsSay(list, "rank 397 · 3.00 ms"));
  EXPECT_LT(list.commands().size(), 2500u);
}

TEST(BucketSceneTest, OfManyRanksThoseThatAreAlikeShareARow) {
  auto content = std::make_shared<BucketContent>(*cellsOf(manyRanksLate()));
  // As UnlikeRanks tells them apart in a run of more steps.
  content->alike = std::vector<BucketContent::Row>(2);
  content->alike[0].ranks = {397};
  content->alike[0].unlike = true;
  for (std::size_t rank = 0; rank < 400; ++rank) {
    if (rank != 397) {
      content->alike[1].ranks.push_back(rank);
    }
  }
  const DisplayList list = cellsDrawn(*content, cellFrame(CellFigure::kLateness));
  EXPECT_TRUE(cellsSay(list, "rank 397"));
  EXPECT_TRUE(cellsSay(list, "399 ranks alike"));
  EXPECT_TRUE(cellsSay(list, "Of ranks that look the same a row shows the middle one"));
  content->alike[0].ranks = {396, 397};
  EXPECT_TRUE(cellsSay(cellsDrawn(*content, cellFrame()), "ranks 396-397"));
  content->alike[0].ranks = {397};
  EXPECT_EQ(content->rowOf(397, true), 0u);
  EXPECT_EQ(content->rowOf(12, true), 1u);
  EXPECT_EQ(content->valueOf(content->alike[0], 3, {CellFigure::kLateness}), 3);
  EXPECT_EQ(content->valueOf(content->alike[1], 3, {CellFigure::kLateness}), 0);
}

TEST(BucketSceneTest, SaysWhyItIsEmpty) {
  EXPECT_TRUE(
      cellsSay(cellsDrawn(*cellsOf(HandMadeRun(0)), cellFrame()), "No bucket was communicated"));
  EXPECT_TRUE(cellsSay(cellsDrawn(*cellsOf(HandMadeRun(0)), cellFrame()),
                       "appears with the first gradient bucket"));
  HandMadeRun sharded(2);
  for (int rank = 0; rank < 2; ++rank) {
    sharded.add(rank, trace::EventKind::kStep, 0, 100'000, 0);
    sharded.addCollective(rank, 4'000, 10'000, 0, 0);
    sharded.spans.back().bucket = trace::kNoBucket;
  }
  EXPECT_TRUE(cellsSay(cellsDrawn(*cellsOf(sharded), cellFrame()), "belong to no gradient bucket"));
  HandMadeRun alone(1);
  alone.add(0, trace::EventKind::kStep, 0, 100'000, 0);
  EXPECT_TRUE(cellsSay(cellsDrawn(*cellsOf(alone), cellFrame()), "This run has one rank"));
}

TEST(BucketSceneTest, SaysThatAllGradientsAreInOneBucket) {
  HandMadeRun run = lateRun({0, 3, 3});
  for (trace::SpanRow& span : run.spans) {
    span.bucket = span.bucket == 3 ? std::uint16_t{0} : span.bucket;
  }
  EXPECT_TRUE(cellsSay(cellsDrawn(*cellsOf(run), cellFrame()), "All gradients are in one bucket"));
}

TEST(BucketCellsTest, RowsOfALiveRunAreFoundAgainWhenOthersCameBetweenThem) {
  HandMadeRun alone(2);
  alone.addCollective(1, 10, 15, 0, 0);
  HandMadeRun both = alone;
  both.addCollective(0, 10, 15, 0, 0);
  const auto before = bucketCells(cellsOf(alone), {});
  const auto after = bucketCells(cellsOf(both), {});
  // Four buckets a rank, since the calls are those of bucket 3.
  EXPECT_EQ(after->placeOf(*before, 3), 7u);
  EXPECT_EQ(before->placeOf(*after, 3), std::nullopt);
}

TEST(BucketCellsTest, HasAColumnAFigureForTheFile) {
  const auto rows = bucketCells(cellsOf(lateRun({0, 3, 3})), {});
  QStringList titles;
  for (const TableRows::Column& column : rows->columns()) {
    titles << column.title;
  }
  EXPECT_EQ(titles.join(", "),
            "Rank, Bucket, Cost (ms), Exposed (ms), Arrival lateness (ms), Duration (ms), Waiting "
            "(ms), Transfer (ms), Iterations");
  EXPECT_EQ(rows->text(3, 2), "6.000");
  EXPECT_EQ(rows->text(0, 2), "unknown");
}

}  // namespace
}  // namespace lockstep::ui

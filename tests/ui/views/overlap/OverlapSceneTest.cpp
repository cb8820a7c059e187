#include "ui/views/overlap/OverlapScene.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/analysis/GrowingAnalysis.h"
#include "tests/ui/views/overlap/HandMadeContent.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/views/overlap/OverlapPicture.h"
#include "ui/views/overlap/OverlapWords.h"

namespace lockstep::ui {
namespace {

using Op = DisplayList::Op;

constexpr double kSideWords = 344;  // width of what is said beside the bars

const Palette& palette() {
  return Palette::of(Theme::kLight);
}

OverlapFrame frameOf(const OverlapContent& content, QSizeF size = {1200, 600}) {
  OverlapFrame frame;
  frame.size = size;
  frame.firstStep = content.firstStep;
  frame.lastStep = content.lastStep + 1.0;
  return frame;
}

DisplayList drawn(const OverlapContent& content, const OverlapFrame& frame) {
  DisplayList list;
  OverlapScene(content, palette(), frame).draw(list);
  return list;
}

bool says(const DisplayList& list, const QString& part) {
  return std::any_of(list.texts().begin(), list.texts().end(),
                     [&](const QString& text) { return text.contains(part); });
}

/// How often a text is drawn as it is.
std::ptrdiff_t countOf(const DisplayList& list, const QString& text) {
  return std::count(list.texts().begin(), list.texts().end(), text);
}

/// The heights of what is drawn in a colour at a place, alone or under a hatch.
double heightAt(const DisplayList& list, OverlapPart part, QPointF column) {
  const QColor colour = OverlapScene::colourOf(part, palette());
  for (const auto& command : list.commands()) {
    const bool ours =
        OverlapScene::isHatched(part) ? command.op == Op::kHatch : command.op == Op::kFill;
    if (ours && command.colour == colour.rgba() && command.rect.left() <= column.x() &&
        command.rect.right() >= column.x() && command.rect.top() < column.y() + 1000 &&
        command.rect.height() > 0 && command.rect.width() > 12.5) {
      return command.rect.height();
    }
  }
  return 0;
}

TEST(OverlapSceneTest, StacksTheParts) {
  const auto content = test::handMadeContent(8);
  const OverlapFrame frame = frameOf(*content);
  const OverlapScene scene(*content, palette(), frame);
  const auto at = scene.positionOf({0, 5});
  ASSERT_TRUE(at.has_value());
  const DisplayList list = drawn(*content, frame);
  const double msHigh = scene.rows()[0].plot.height() / content->scaleMs;
  EXPECT_NEAR(heightAt(list, OverlapPart::kAlone, *at), 5 * msHigh, 0.5);
  EXPECT_NEAR(heightAt(list, OverlapPart::kOverlapped, *at), 1 * msHigh, 0.5);
  EXPECT_NEAR(heightAt(list, OverlapPart::kTransfer, *at), 1 * msHigh, 0.5);
  EXPECT_NEAR(heightAt(list, OverlapPart::kWaiting, *at), 2 * msHigh, 0.5);
  EXPECT_NEAR(heightAt(list, OverlapPart::kOther, *at), 1 * msHigh, 0.5);
}

std::vector<int> rowsOf(const OverlapContent& content, const OverlapFrame& frame) {
  std::vector<int> ranks;
  const OverlapScene scene(content, palette(), frame);
  for (const OverlapScene::Row& row : scene.rows()) {
    ranks.push_back(row.rank->rank);
  }
  return ranks;
}

TEST(OverlapSceneTest, OfManyRanksShowsWhatAllHaveExposedAndThoseThatStandOut) {
  const auto content = overlapContent(test::manyRanks(40));
  const OverlapContent::Spread* spread = content->spreadOf(4);
  ASSERT_NE(spread, nullptr);
  EXPECT_NEAR(spread->least, 1, 1e-6);
  EXPECT_NEAR(spread->half, 3, 1e-6);
  EXPECT_NEAR(spread->most, 4, 1e-6);
  EXPECT_EQ(spread->worst, 3);
  OverlapFrame frame = frameOf(*content);
  const OverlapScene scene(*content, palette(), frame);
  EXPECT_FALSE(scene.spreadPlot().isEmpty());
  EXPECT_EQ(scene.maximumScroll(), 0);
  const DisplayList list = drawn(*content, frame);
  for (const char* text : {"all 9 ranks", "rank 6", "late", "most exposed", "middle rank"}) {
    EXPECT_EQ(countOf(list, QString::fromLatin1(text)), 1) << text;
  }
  EXPECT_EQ(rowsOf(*content, frame).size(), 3u);
  const QPointF onStep4(scene.positionOf({6, 4})->x(), scene.spreadPlot().center().y());
  EXPECT_EQ(scene.stepAt(onStep4), (OverlapStep{3, 4})) << "the rank that is exposed most";
  frame.pointer = onStep4;
  EXPECT_TRUE(says(drawn(*content, frame), QStringLiteral("4.00 ms, rank 3")));
}

TEST(OverlapSceneTest, OfManyRanksThatGrowKeepsTheSpreadsOfClosedSteps) {
  analysis::GrowingAnalysis analysis;
  GrowingOverlapContent growing;
  for (const std::uint32_t steps : {5u, 300u, 450u, 600u}) {
    AnalysedRun run = test::manyRanks(steps);
    run.analysis = analysis.refresh(run.data);
    const auto content = growing.refresh(run);
    const auto whole = overlapContent(test::manyRanks(steps));
    EXPECT_EQ(content->spreadMs, whole->spreadMs);
    EXPECT_EQ(content->examples.size(), whole->examples.size());
    ASSERT_EQ(content->spreads.size(), steps);
    for (std::uint32_t step = 0; step < steps; ++step) {
      EXPECT_EQ(content->spreads[step].step, step);
      EXPECT_NEAR(content->spreads[step].half, whole->spreads[step].half, 1e-9);
      EXPECT_NEAR(content->spreads[step].most, step == 4 ? 4 : 3, 1e-6);
    }
    EXPECT_EQ(run.analysis.closed.next > 0, steps > 299) << "some are closed, and kept";
  }
}

TEST(OverlapSceneTest, OfAPictureFindsTheMeasuredMediansOfRanksAlone) {
  const AnalysedRun run = test::manyRanks(40);
  const auto whole = overlapContent(run);
  const auto pictured = overlapContent(run, analysis::rankStepOverlaps(run.data, run.analysis),
                                       RankMedians::kMeasuredAlone);
  ASSERT_EQ(pictured->ranks.size(), whole->ranks.size());
  for (std::size_t i = 0; i < whole->ranks.size(); ++i) {
    EXPECT_TRUE(whole->ranks[i].all);
    EXPECT_FALSE(pictured->ranks[i].all);
    ASSERT_TRUE(pictured->ranks[i].measured);
    EXPECT_EQ(pictured->ranks[i].measured->exposedMs, whole->ranks[i].measured->exposedMs);
    EXPECT_EQ(pictured->ranks[i].measured->bottleneck, whole->ranks[i].measured->bottleneck);
  }
  EXPECT_EQ(drawn(*pictured, frameOf(*pictured)).texts(), drawn(*whole, frameOf(*whole)).texts());
}

TEST(OverlapSceneTest, OfManyRanksShowsThoseThatWereChosenAndTheSelectedOne) {
  const auto content = overlapContent(test::manyRanks(12));
  OverlapFrame frame = frameOf(*content);
  frame.shown = {8, 1, 77};
  EXPECT_EQ(rowsOf(*content, frame), (std::vector<int>{8, 1}));
  frame.selected = OverlapStep{5, 3};
  EXPECT_EQ(rowsOf(*content, frame), (std::vector<int>{8, 1, 5}));
  const auto few = test::handMadeContent(12);
  EXPECT_TRUE(OverlapScene(*few, palette(), frameOf(*few)).spreadPlot().isEmpty());
  EXPECT_EQ(rowsOf(*few, frameOf(*few)), (std::vector<int>{0, 1}));
}

// Rank 0 loses 3 ms to rank 1: 2 of waiting, and the 1 of transfer that this put behind its
// computing. Rank 1 loses its own 1 ms of transfer. Means over both: 1.5 and 0.5 ms a step.
// A faster transfer can give rank 0 at most 1 of its 10 ms: 10 / 9 is 11.1 % faster. The 2 ms that
// it waits are rank 1's.
TEST(OverlapSceneTest, SaysWhyAndWhatIsToBeHad) {
  const auto content = test::handMadeContent(12);
  ASSERT_EQ(content->reasons.size(), 2);
  OverlapFrame frame = frameOf(*content);
  EXPECT_TRUE(says(drawn(*content, frame),
                   QStringLiteral("Why 2.00 ms a step are exposed (mean, all ranks")));
  EXPECT_TRUE(says(drawn(*content, frame), QStringLiteral("late rank 1")));
  EXPECT_TRUE(
      says(drawn(*content, frame), QStringLiteral("Rank 1 came 3.00 ms later to bucket 0")));
  frame.rank = 0;
  EXPECT_TRUE(
      says(drawn(*content, frame), QStringLiteral("Why 3.00 ms a step are exposed (mean, rank 0")));
  EXPECT_TRUE(says(drawn(*content, frame), QStringLiteral("What overlap gives rank 0")));
  EXPECT_TRUE(says(drawn(*content, frame), QStringLiteral("no transfer 9.00 ms")));
  EXPECT_TRUE(says(drawn(*content, frame), QStringLiteral("11.1")));
  EXPECT_TRUE(overlap_words::verdict(*content->ranks[0].measured)
                  .contains(QStringLiteral("waits 2.00 ms a step for other ranks")));
}

TEST(OverlapSceneTest, SaysAllOfWhyHoweverManyLinesThatTakes) {
  auto content = *test::handMadeContent(12);
  analysis::TailReason& reason = content.reasons.front();
  reason.mean.cause = analysis::TailCause::kNoCore;
  const QStringList lines = brokenInto(QString::fromStdString(analysis::explanation(reason.mean)),
                                       kSideWords, FontRole::kSmall);
  ASSERT_GT(lines.size(), 2);
  const OverlapFrame frame = frameOf(content, {1200, 900});
  const DisplayList list = drawn(content, frame);
  for (const QString& line : lines) {
    EXPECT_EQ(countOf(list, line), 1) << line.toStdString();
  }
  const OverlapScene scene(content, palette(), frame);
  EXPECT_EQ(scene.reasonAt(*scene.positionOfReason(0)), 0);
  EXPECT_EQ(scene.reasonAt(*scene.positionOfReason(1)), 1);
}

TEST(OverlapSceneTest, NarrowBarsAreTintedAndWideOnesHatched) {
  const auto hatchesOver = [](std::uint32_t steps) {
    const auto content = test::handMadeContent(steps);
    const OverlapFrame frame = frameOf(*content);
    const QRectF charts = OverlapScene(*content, palette(), frame).charts();
    const DisplayList list = drawn(*content, frame);
    return std::ranges::count_if(list.commands(), [&](const DisplayList::Command& command) {
      return command.op == Op::kHatch && command.rect.left() >= charts.left() &&
             command.rect.right() <= charts.right() && command.rect.top() >= charts.top();
    });
  };
  EXPECT_GT(hatchesOver(12), 12);
  EXPECT_EQ(hatchesOver(270), 0) << "neither in bars nor in the legend of them";
}

TEST(OverlapSceneTest, SaysAllOfWhatOverlapGivesAndHasItInACardWhereThereIsNoRoom) {
  const auto content = test::handMadeContent(12);
  const QStringList lines =
      brokenInto(overlap_words::verdict(*content->ranks[0].measured), kSideWords, FontRole::kSmall);
  ASSERT_GT(lines.size(), 4);
  OverlapFrame frame = frameOf(*content);
  frame.rank = 0;
  for (const QString& line : lines) {
    EXPECT_EQ(countOf(drawn(*content, frame), line), 1) << line.toStdString();
  }
  frame.size.setHeight(360);
  EXPECT_EQ(countOf(drawn(*content, frame), lines.back()), 0);
  frame.pointer = QPointF(frame.size.width() - 60, frame.size.height() - 60);
  EXPECT_EQ(countOf(drawn(*content, frame), QStringLiteral("What overlap gives rank 0")), 2);
}

TEST(OverlapSceneTest, NamesEveryColourHoweverNarrowItIs) {
  const auto content = test::handMadeContent(12);
  for (const double width : {1200.0, 700.0, 420.0}) {
    const DisplayList list = drawn(*content, frameOf(*content, {width, 600}));
    for (const OverlapPart part :
         {OverlapPart::kAlone, OverlapPart::kOverlapped, OverlapPart::kOther,
          OverlapPart::kTransfer, OverlapPart::kWaiting}) {
      EXPECT_EQ(countOf(list, OverlapScene::nameOf(part)), 1)
          << width << " " << OverlapScene::nameOf(part).toStdString();
    }
  }
}

TEST(OverlapSceneTest, FindsBarsCausesAndRanksByPosition) {
  const auto content = test::handMadeContent(8);
  const OverlapScene scene(*content, palette(), frameOf(*content));
  for (const OverlapStep step : {OverlapStep{0, 0}, OverlapStep{1, 7}, OverlapStep{0, 4}}) {
    const auto at = scene.positionOf(step);
    ASSERT_TRUE(at.has_value());
    EXPECT_EQ(scene.stepAt(*at), step);
  }
  EXPECT_EQ(scene.reasonAt(*scene.positionOfReason(1)), 1);
  const std::string_view cause = analysis::name(content->reasonsOf(std::nullopt)[1].mean.cause);
  EXPECT_EQ(scene.headingAt(*scene.positionOfReason(1)).toStdString(), cause);
  EXPECT_EQ(scene.headingAt(*scene.positionOf({0, 0})), "exposed time");
  EXPECT_EQ(scene.labelAt(scene.rows()[1].label.center()), 1);
  EXPECT_EQ(scene.stepAt(scene.rows()[1].label.center()), std::nullopt);
  EXPECT_EQ(scene.positionOf({5, 0}), std::nullopt);
}

TEST(OverlapSceneTest, TellsAllOfAStepUnderThePointer) {
  const auto content = test::handMadeContent(8);
  OverlapFrame frame = frameOf(*content);
  frame.pointer = OverlapScene(*content, palette(), frame).positionOf({0, 5});
  const DisplayList list = drawn(*content, frame);
  EXPECT_TRUE(says(list, QStringLiteral("rank 0, iteration 5")));
  EXPECT_TRUE(says(list, QStringLiteral("10.0 ms")));
  EXPECT_TRUE(says(list, QStringLiteral("25.0 %"))) << "1 of 4 ms in flight";
}

TEST(OverlapSceneTest, DrawsAsManyBarsAsThereArePixelsHoweverLongTheRun) {
  const auto content = test::handMadeContent(5'000);
  const DisplayList list = drawn(*content, frameOf(*content));
  EXPECT_LT(list.commands().size(), 8'000u);
  const OverlapScene scene(*content, palette(), frameOf(*content));
  const auto at = scene.positionOf({1, 3'000});
  ASSERT_TRUE(at.has_value());
  EXPECT_NEAR(static_cast<double>(scene.stepAt(*at)->step), 3'000, 32)
      << "a bar stands for several";
}

TEST(OverlapSceneTest, PutsTheCausesUnderTheBarsWhereThereIsNoRoomBeside) {
  const auto content = test::handMadeContent(8);
  const OverlapScene narrow(*content, palette(), frameOf(*content, {700, 700}));
  ASSERT_TRUE(narrow.positionOfReason(0).has_value());
  EXPECT_GT(narrow.positionOfReason(0)->y(), narrow.charts().bottom());
}

TEST(OverlapSceneTest, KeepsEveryRankWithinReachOfTheScrollBar) {
  const auto content = test::handMadeContent(3);
  const OverlapScene low(*content, palette(), frameOf(*content, {1200, 200}));
  EXPECT_GT(low.maximumScroll(), 0);
  OverlapFrame scrolled = frameOf(*content, {1200, 200});
  scrolled.scrollY = low.maximumScroll();
  EXPECT_TRUE(OverlapScene(*content, palette(), scrolled).positionOf({1, 2}).has_value());
}

TEST(OverlapPictureTest, HasTheSizeAskedForAndSaysWhatItShows) {
  RunModel model;
  const Picture picture = overlapPicture(model, test::handMadeRun(8), QSize(1100, 0), Theme::kDark);
  EXPECT_EQ(picture.size.width(), 1100);
  EXPECT_GE(picture.size.height(), 500);
  EXPECT_TRUE(says(picture.list, QStringLiteral("exposed a step")));
}

TEST(OverlapPictureTest, SaysSoWhenARunHasNoIteration) {
  RunModel model;
  EXPECT_TRUE(says(overlapPicture(model, AnalysedRun(), QSize(900, 500), Theme::kLight).list,
                   QStringLiteral("no iteration")));
}

}  // namespace
}  // namespace lockstep::ui

#include "engine/trace/Event.h"
#include "ui/views/compare/CompareTables.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/ui/views/compare/AnalysedDemo.h"
#include "ui/table/RowsModel.h"
#include "ui/table/TableText.h"
#include "ui/views/compare/MetricText.h"

namespace lockstep::ui {
namespace {

using analysis::Metric;
using analysis::Verdict;

class CompareTablesTest : public testing::Test {
 protected:
  static std::shared_ptr<const CompareResult> compared() {
    test::AnalysedDemo a;
    test::AnalysedDemo b(test::slower(), "slow");
    CompareInput inputA = compareInput(a.model, a.analysed);
    CompareInput inputB = compareInput(b.model, b.analysed);
    inputA.settings = analysis::settingsOf("[hook]\nname = \"allreduce\"\n[train]\nseed = 1\n");
    inputB.settings =
        analysis::settingsOf("[hook]\nname = \"topk\"\ndensity = 0.1\n[train]\nseed = 1\n");
    return compareRuns({inputA, inputB});
  }

  static int rowOf(const RowsModel& model, const QString& name) {
    for (int row = 0; row < model.rowCount(); ++row) {
      if (model.index(row, 0).data().toString() == name) {
        return row;
      }
    }
    return -1;
  }
};

TEST_F(CompareTablesTest, KeysShowOnlyWhatDiffers) {
  RowsModel keys;
  keys.setRows(std::make_shared<KeyRows>(Compared{compared(), 1}));
  ASSERT_EQ(keys.rowCount(), 2);
  EXPECT_EQ(keys.index(0, 0).data().toString(), "hook.name");
  EXPECT_EQ(keys.index(0, 1).data().toString(), "allreduce");
  EXPECT_EQ(keys.index(0, 2).data().toString(), "topk");
  EXPECT_EQ(keys.index(1, 1).data().toString(), "\u2013");
  EXPECT_EQ(keys.headerData(2, Qt::Horizontal, Qt::DisplayRole).toString(), "B");
}

TEST_F(CompareTablesTest, FiguresAreThoseOfTheAnalysisToTheLastDigit) {
  RowsModel metrics;
  const auto result = compared();
  metrics.setRows(std::make_shared<MetricRows>(Compared{result, 1}));
  const int row = rowOf(metrics, "exposed communication [ms]");
  ASSERT_GE(row, 0);
  const analysis::RunAnalysis& run = result->runs[0].analysed->analysis;
  double exposed = 0;
  int steps = 0;
  for (const analysis::StepTimes& step : run.steps()) {
    if (step.step >= run.warmUp.firstMeasured && !step.incomplete) {
      exposed += step.exposedMs;
      ++steps;
    }
  }
  ASSERT_GT(steps, 0);
  EXPECT_EQ(metrics.index(row, MetricRows::kA).data().toString(),
            QString::number(exposed / steps, 'f', 2));
  EXPECT_NEAR(metrics.index(row, MetricRows::kA).data(RowsModel::kSortRole).toDouble(),
              exposed / steps, 1e-9);
}

TEST_F(CompareTablesTest, ALongerStepTimeOfOneRunIsWorseSoFarAndNoVerdictOnTheChange) {
  RowsModel metrics;
  metrics.setRows(std::make_shared<MetricRows>(Compared{compared(), 1}));
  const int row = rowOf(metrics, "step time [ms]");
  ASSERT_GE(row, 0);
  EXPECT_EQ(metrics.index(row, MetricRows::kVerdict).data().toString(), "\u25b2 worse so far");
  EXPECT_EQ(metrics.index(row, MetricRows::kVerdict).data(Qt::ForegroundRole).value<QColor>(),
            Palette::of(Theme::kLight).error);
  EXPECT_TRUE(metrics.index(row, 0).data(Qt::ToolTipRole).toString().contains("One run each"));
  EXPECT_TRUE(fewRunsNote(compared()->comparison, 1).contains("two runs or more of each"));
}

TEST_F(CompareTablesTest, WithTwoRunsOfOneExperimentNoNoteAsksForMore) {
  test::AnalysedDemo a;
  test::AnalysedDemo same;
  const auto result =
      compareRuns({compareInput(a.model, a.analysed), compareInput(same.model, same.analysed)});
  EXPECT_EQ(fewRunsNote(result->comparison, 1), "");
}

TEST_F(CompareTablesTest, MoreOfWhatIsBetterHigherIsBetterSoFar) {
  analysis::Delta delta;
  delta.difference = 2;
  delta.verdict = Verdict::kTooFewRuns;
  const Palette& palette = Palette::of(Theme::kLight);
  EXPECT_EQ(verdictText(Metric::kOverlap, delta), "\u25b2 better so far");
  EXPECT_EQ(verdictColour(Metric::kOverlap, delta, palette), palette.good);
  EXPECT_EQ(verdictText(Metric::kStep, delta), "\u25b2 worse so far");
  delta.verdict = Verdict::kBetter;
  EXPECT_EQ(verdictText(Metric::kOverlap, delta), "\u25b2 better");
  delta.verdict = Verdict::kNoDifference;
  EXPECT_EQ(verdictText(Metric::kOverlap, delta), "not significant");
  EXPECT_EQ(verdictColour(Metric::kOverlap, delta, palette), palette.textMuted);
}

TEST_F(CompareTablesTest, RunsOfOneNameAreToldApartByTheirFiles) {
  CompareResult result;
  result.runs.resize(3);
  result.runs[0].name = result.runs[0].detail = result.runs[1].name = "demo";
  result.runs[1].detail = "larger_buckets";
  result.runs[2].name = "topk";
  result.runs[2].detail = "first";
  EXPECT_EQ(titleOfRun(result, 0), "A  demo");
  EXPECT_EQ(titleOfRun(result, 1), "B  demo (larger_buckets)");
  EXPECT_EQ(titleOfRun(result, 2), "C  topk");
}

TEST_F(CompareTablesTest, WhatIsNotSignificantIsGreyedWithItsReason) {
  test::AnalysedDemo a;
  test::AnalysedDemo same;
  RowsModel metrics;
  metrics.setRows(std::make_shared<MetricRows>(Compared{
      compareRuns({compareInput(a.model, a.analysed), compareInput(same.model, same.analysed)}),
      1}));
  const int row = rowOf(metrics, "step time [ms]");
  ASSERT_GE(row, 0);
  const QModelIndex verdict = metrics.index(row, MetricRows::kVerdict);
  EXPECT_EQ(verdict.data().toString(), "same experiment");
  EXPECT_EQ(verdict.data(Qt::ForegroundRole).value<QColor>(), Palette::of(Theme::kLight).textMuted);
  EXPECT_TRUE(verdict.data(Qt::ToolTipRole).toString().contains("A and B ran the same experiment"));
}

TEST_F(CompareTablesTest, ReasonsAreRankedSentences) {
  RowsModel why;
  why.setRows(std::make_shared<WhyRows>(Compared{compared(), 1}));
  ASSERT_GT(why.rowCount(), 1);
  double last = 1e9;
  for (int row = 0; row < why.rowCount(); ++row) {
    const double delta =
        std::abs(why.index(row, WhyRows::kDelta).data(RowsModel::kSortRole).toDouble());
    EXPECT_LE(delta, last);
    last = delta;
    EXPECT_TRUE(why.index(row, WhyRows::kSentence).data().toString().contains(" a step ("));
  }
}

TEST_F(CompareTablesTest, CsvHoldsHeadingsAndQuotesCommas) {
  RowsModel keys;
  auto result = std::make_shared<CompareResult>(*compared());
  result->comparison.keys[0].values[0] = "[1, 2]";
  keys.setRows(std::make_shared<KeyRows>(Compared{result, 1}));
  EXPECT_EQ(csvOf(keys).section("\r\n", 0, 1), "Key,A,B\r\nhook.name,\"[1, 2]\",topk");
}

TEST_F(CompareTablesTest, PercentilesAreOfMeasuredIterations) {
  const auto result = compared();
  RowsModel percentiles;
  percentiles.setRows(std::make_shared<PercentileRows>(result, trace::EventKind::kStep));
  ASSERT_EQ(percentiles.rowCount(), 2);
  // Two ranks; of 50 steps the first two are warm-up.
  const auto measured = result->comparison.runs[0].measuredIterations;
  EXPECT_EQ(percentiles.index(0, PercentileRows::kCount).data(RowsModel::kSortRole).toULongLong(),
            2 * measured);
  percentiles.setRows(std::make_shared<PercentileRows>(result, trace::EventKind::kScatter));
  EXPECT_EQ(percentiles.index(0, PercentileRows::kP50).data().toString(), "\u2013");
}

TEST_F(CompareTablesTest, TextsOfFiguresCarrySignsAndUnits) {
  EXPECT_EQ(valueText(Metric::kStep, 12.345), "12.35");
  EXPECT_EQ(valueText(Metric::kStep, 0.01234), "0.012");
  EXPECT_EQ(valueText(Metric::kStep, 0.00012), "0.0001");
  EXPECT_EQ(valueText(Metric::kStep, 0.0), "0");
  EXPECT_EQ(valueText(Metric::kPayload, 8900.0), "8.69 KiB");
  EXPECT_EQ(valueText(Metric::kFinalLoss, std::nullopt), "\u2013");
  EXPECT_EQ(differenceText(Metric::kStep, -1.5), "\u22121.50");
  EXPECT_EQ(differenceText(Metric::kStep, 0.0), "0");
  EXPECT_EQ(changeText(12.34), "+12.3 %");
  EXPECT_EQ(changeText(1260.0), "\u00d713.6");
  analysis::Delta delta;
  EXPECT_EQ(intervalText(Metric::kStep, delta), "\u2013");
  delta.low = -0.5;
  delta.high = 1.5;
  EXPECT_EQ(intervalText(Metric::kStep, delta), "\u22120.50 \u2026 +1.50");
  // What is written as 0 has no sign.
  delta.low = -0.2;
  delta.high = 0.2;
  EXPECT_EQ(intervalText(Metric::kPayload, delta), "0 B");
  EXPECT_EQ(changeText(-0.01), "0.0 %");
}

}  // namespace
}  // namespace lockstep::ui

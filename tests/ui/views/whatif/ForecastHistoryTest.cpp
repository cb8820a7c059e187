#include "ui/views/whatif/ForecastHistory.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/views/whatif/WhatIfRuns.h"
#include "ui/views/whatif/HistoryTable.h"

namespace lockstep::ui {
namespace {

// BucketRun's steps take 1 ms on rank 0, of which 320 µs are exposed.
class ForecastHistoryTest : public testing::Test {
 protected:
  QString path(const char* name) { return QString::fromStdString((folder_ / name).string()); }
  PastForecast forecastOf(const QString& run, double stepNs) {
    PastForecast forecast;
    forecast.run = run;
    forecast.change = "cap 4 MiB";
    forecast.stepNs = {stepNs, stepNs - 50e3, stepNs + 50e3};
    forecast.exposedNs = {300e3, 250e3, 350e3};
    return forecast;
  }
  QString runOf(const char* name, trace::RunState state = trace::RunState::kFinished,
                std::uint32_t steps = 8) {
    auto run = test::whatIfSteps(steps);
    run.update.info->state = state;
    EXPECT_TRUE(test::writeRun(folder_ / name, run.update).ok());
    return path(name);
  }
  bool measured(ForecastHistory& history) {
    QSignalSpy changed(&history, &ForecastHistory::changed);
    history.measure();
    return QTest::qWaitFor([&] { return !changed.isEmpty(); }, 10'000);
  }

  support::TemporaryFolder folder_;
};

TEST_F(ForecastHistoryTest, SaysHowGoodForecastsHaveBeenAlsoAfterAnotherStart) {
  {
    ForecastHistory history(path("forecasts.jsonl"));
    EXPECT_EQ(historyWords(history),
              "No forecast was tried yet: Run this tries one, and keeps what came of it.");
    history.begin(forecastOf(runOf("good.lockstep"), 1.02e6));
    history.begin(forecastOf(runOf("bad.lockstep"), 1.2e6));
    ASSERT_TRUE(measured(history));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !history.forecasts()[1].open(); }, 10'000));
  }
  const ForecastHistory history(path("forecasts.jsonl"));
  ASSERT_EQ(history.forecasts().size(), 2u);
  EXPECT_NEAR(history.forecasts()[0].measured->stepNs, 1e6, 1);
  EXPECT_NEAR(history.forecasts()[0].measured->exposedNs, 320e3, 1);
  EXPECT_EQ(historyWords(history),
            "Forecasts that were tried: 2. The step was within its interval in 1 of them, the "
            "exposed time in 2; the median error of the step is 11.0 %.");
  const QString beside = besideWords(history.forecasts()[0]);
  EXPECT_TRUE(
      beside.startsWith("The open run tried a forecast, cap 4 MiB: on rank 0 a step of 1.02 ms "))
      << beside.toStdString();
  EXPECT_TRUE(
      beside.contains("was forecast and 1.00 ms measured, within the interval; of exposed "
                      "time 300 µs"))
      << beside.toStdString();
  EXPECT_TRUE(besideWords(history.forecasts()[1]).contains(", beyond the interval"));
  const auto rows = historyRows(history.forecasts());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->text(0, 0), "bad") << "the latest first";
  EXPECT_EQ(rows->text(0, rows->columns().size() - 1), "no");
  EXPECT_EQ(rows->text(1, rows->columns().size() - 1), "yes");
}

TEST_F(ForecastHistoryTest, OfAllRanksTheMeanIsMeasured) {
  ForecastHistory history(path("forecasts.jsonl"));
  PastForecast forecast = forecastOf(runOf("mean.lockstep"), 1e6);
  forecast.rank = PastForecast::kMeanOfRanks;
  history.begin(forecast);
  ASSERT_TRUE(measured(history));
  EXPECT_NEAR(history.forecasts()[0].measured->stepNs, 0.995e6, 1) << "rank 1 begins at 10";
  EXPECT_TRUE(besideWords(history.forecasts()[0]).contains(": in the mean of its ranks a step"));
}

TEST_F(ForecastHistoryTest, RunsThatFailedCountForNothing) {
  ForecastHistory history(path("forecasts.jsonl"));
  history.begin(forecastOf(runOf("failed.lockstep", trace::RunState::kFailed), 1e6));
  ASSERT_TRUE(measured(history));
  EXPECT_EQ(history.forecasts()[0].ended, "it did not finish");
  history.begin(forecastOf(runOf("short.lockstep", trace::RunState::kFinished, 1), 1e6));
  ASSERT_TRUE(measured(history));
  EXPECT_EQ(history.forecasts()[1].ended, "it recorded no whole iteration");
  history.begin(forecastOf(path("never.lockstep"), 1e6));
  EXPECT_TRUE(history.forecasts()[2].open());
  history.giveUp(path("never.lockstep"));
  EXPECT_EQ(ForecastHistory(path("forecasts.jsonl")).forecasts()[2].ended, "it did not come up");
  EXPECT_TRUE(historyWords(history).startsWith("No forecast was tried yet"));
}

TEST_F(ForecastHistoryTest, DamagedLinesAreLeftOutAndSaid) {
  const QString file = path("forecasts.jsonl");
  ForecastHistory(file).begin(forecastOf(path("a.lockstep"), 1e6));
  {
    QFile damaged(file);
    ASSERT_TRUE(damaged.open(QIODevice::Append));
    damaged.write("{\"run\":\"b\",\"step_ns\":[1,2\nno JSON\n{\"run\":\"c\",\"ended\":\"x\"}\n\n");
  }
  ForecastHistory(file).begin(forecastOf(path("d.lockstep"), 1e6));
  const ForecastHistory history(file);
  EXPECT_EQ(history.forecasts().size(), 2u);
  EXPECT_EQ(history.damaged(), 3u);
  EXPECT_TRUE(
      historyWords(history).endsWith(" 3 lines of " + file + " cannot be read and are left out."))
      << historyWords(history).toStdString();
}

TEST_F(ForecastHistoryTest, AFileThatCannotBeWrittenIsSaid) {
  ForecastHistory history(path("a.lockstep/forecasts.jsonl"));
  runOf("a.lockstep");  // a file in the place of the folder
  QSignalSpy failed(&history, &ForecastHistory::failed);
  history.begin(forecastOf(path("b.lockstep"), 1e6));
  ASSERT_EQ(failed.size(), 1);
  EXPECT_TRUE(failed[0][0].toString().contains("forecasts.jsonl cannot be written: "));
}

}  // namespace
}  // namespace lockstep::ui

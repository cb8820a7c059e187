#include "engine/cost/ForecastText.h"

#include <gmock/gmock.h>

#include "tests/engine/cost/HandMadeSteps.h"

namespace lockstep::cost {
namespace {

using test::planWith;
using test::SleepingRun;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kMs = 1e6;

RankForecast forecastOf(const SleepingRun& run, int perBucket) {
  const auto made =
      Forecaster::make({run.steps(40), KnownTransfer{run.nsPerByte, run.latencyNs}, 1, {}});
  return made.value().forecast(planWith(run, perBucket)).value().front();
}

TEST(ForecastText, SaysADirectionWhereAllOfTheIntervalHasIt) {
  RankForecast of;
  of.rank = 1;
  of.measuredExposedNs = 40 * kMs;
  of.exposedNs = {10 * kMs, 8 * kMs, 12 * kMs};
  of.measuredStepNs = 50 * kMs;
  of.stepNs = {60 * kMs, 55 * kMs, 65 * kMs};
  EXPECT_EQ(forecastText(of),
            "Exposed time of rank 1 would fall from 40.0 ms to 10.0 ms (8.00 ms to 12.0 ms), by 75 "
            "% (70 to 80 %). Step time of rank 1 would rise from 50.0 ms to 60.0 ms (55.0 ms to "
            "65.0 ms), by 20 % (10 to 30 %).");
}

TEST(ForecastText, SaysNoDirectionWhereTheIntervalHoldsWhatWasMeasured) {
  RankForecast of;
  of.measuredExposedNs = 11 * kMs;
  of.exposedNs = {10 * kMs, 8 * kMs, 12 * kMs};
  of.measuredStepNs = 55 * kMs;
  of.stepNs = {60 * kMs, 55 * kMs, 65 * kMs};
  EXPECT_EQ(
      forecastText(of),
      "Exposed time of rank 0: no difference can be told; 10.0 ms (8.00 ms to 12.0 ms) is "
      "forecast, and the 11.0 ms that was measured lies within. Step time of rank 0: no "
      "difference can be told; 60.0 ms (55.0 ms to 65.0 ms) is forecast, and the 55.0 ms that "
      "was measured lies within.");
}

// From 10 ns to 5 ms is by half a million times as much, which tells nobody anything.
TEST(ForecastText, SaysNoPartOfWhatWasNextToNothing) {
  RankForecast of;
  of.measuredExposedNs = 10;
  of.exposedNs = {5 * kMs, 4 * kMs, 6 * kMs};
  EXPECT_THAT(forecastText(of), AllOf(HasSubstr("would rise from 10 ns to 5.00 ms (4.00 ms to 6.00 "
                                                "ms). Step"),
                                      Not(HasSubstr("by "))));
  of.measuredExposedNs = 0;
  EXPECT_THAT(forecastText(of), Not(HasSubstr("inf")));
}

// All in one bucket: 2.2 ms behind the last gradient become 8.2.
TEST(ForecastText, ARunTellsAChangeThatIsBeyondItsNoise) {
  SleepingRun run;
  run.noise = 0.1;
  const RankForecast of = forecastOf(run, 20);
  EXPECT_EQ(changeFrom(of.measuredExposedNs, of.exposedNs), Change::kMore);
  EXPECT_EQ(changeFrom(of.measuredStepNs, of.stepNs), Change::kMore);
  EXPECT_THAT(forecastText(of),
              HasSubstr("Exposed time of rank 0 would rise from 2.16 ms to 8.20 ms ("));
}

// Its own buckets, and others that change next to nothing.
TEST(ForecastText, ARunTellsNoChangeWithinItsNoise) {
  SleepingRun run;
  run.noise = 0.1;
  for (const int perBucket : {5, 6}) {
    const RankForecast of = forecastOf(run, perBucket);
    EXPECT_EQ(changeFrom(of.measuredStepNs, of.stepNs), Change::kUnknown) << perBucket;
    EXPECT_THAT(forecastText(of), HasSubstr("Step time of rank 0: no difference can be told"));
  }
}

TEST(ForecastText, ARefusalSaysWhy) {
  const SleepingRun run;  // its buckets are of one size, and nothing is known of the link
  const auto alike = Forecaster::make({run.steps(10), std::nullopt, 1, {}});
  ASSERT_FALSE(alike.ok());
  EXPECT_THAT(cannotTellText(alike.error()),
              HasSubstr("this run cannot tell, because its transfers are too alike in size"));
  const auto empty = Forecaster::make({});
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(cannotTellText(empty.error()),
              HasSubstr("this run cannot tell, because only 0 of its steps"));
  EXPECT_EQ(mostExposed({}), nullptr);
}

TEST(ForecastText, TheCostSaysWhenceItIsKnown) {
  TransferFit fit;
  fit.cost = {2e5, 4, 0};
  fit.bySettings = true;
  fit.samples = 40;
  fit.errorPercent = 3.21;
  EXPECT_EQ(
      costText(fit),
      "Once all ranks have come and the link is free, the communication of a bucket takes 200 "
      "µs and 4.19 ms a MiB, the latter by the settings of the link; of 40 transfers half are "
      "off by more than 3.2 %.");
  fit.bySettings = false;
  EXPECT_THAT(costText(fit), HasSubstr("fitted to what the run measured"));
}

TEST(ForecastText, SaysWhereCoresAreShort) {
  std::vector<RankForecast> ranks(2);
  const Cores cores{2, 0.54, 2};
  EXPECT_EQ(coresText(cores, ranks), "");
  ranks[1].heldUpNs = 27 * kMs;
  EXPECT_EQ(coresText(cores, ranks),
            "Its ranks keep 0.5 of 2 cores busy; with the change they would at times want more "
            "than there are, and a step is taken to be longer by 27.0 ms, give or take half of "
            "that.");
  EXPECT_EQ(coresText(std::nullopt, ranks), "");
  EXPECT_EQ(coresText(cores, {}), "");
}

TEST(ForecastText, ALineSaysWhatItWouldCostAndWhatIsUnderIt) {
  Line line{{2e5, 4, 0}, 2, {}};
  EXPECT_EQ(lineText(line), "With the change it would take 200 µs and 4.19 ms a MiB, 2 at once.");
  line.under = Backend{{1e5, 1, 0}, 1};
  line.inFlight = 0;
  EXPECT_EQ(lineText(line),
            "With the change it would take 200 µs and 4.19 ms a MiB, and no less than its backend, "
            "100 µs and 1.05 ms a MiB, any number at once.");
}

}  // namespace
}  // namespace lockstep::cost

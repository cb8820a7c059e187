#include "app/cli/TuneRuns.h"

#include <gmock/gmock.h>

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// Three rounds with the run's own settings, and with two others of such ratios to them.
std::vector<MeasuredSettings> measured(cost::MeanInterval cap, cost::MeanInterval views) {
  analysis::TunedSettings ofCap;
  ofCap.capMb = 4;
  analysis::TunedSettings ofViews;
  ofViews.views = true;
  return {{{}, {10, 11, 10}}, {ofCap, {9, 9, 9}, cap}, {ofViews, {9, 9, 9}, views}};
}

TEST(TuneRunsTest, TheFastestThatIsFasterBeyondNoiseWins) {
  const auto runs = measured({0.8, 0.7, 1.01}, {0.9, 0.88, 0.92});
  ASSERT_NE(winnerOf(runs), nullptr);
  EXPECT_TRUE(winnerOf(runs)->settings.views) << "the other one is only faster in the mean";
  EXPECT_EQ(verdictText(runs),
            "\"gradients as views\" won: its steps took 0.900 of those with the run's own settings "
            "(0.880 to 0.920); 3 rounds in alternation, 99 % for all together.");
  EXPECT_EQ(winnerOf(measured({0.8, 0.7, 0.9}, {0.9, 0.88, 0.92}))->settings.capMb, 4);
}

TEST(TuneRunsTest, NoDifferenceBeyondNoiseIsAnAnswer) {
  const auto runs = measured({0.95, 0.9, 1.01}, {0.99, 0.97, 1.02});
  EXPECT_EQ(winnerOf(runs), nullptr);
  EXPECT_THAT(verdictText(runs),
              AllOf(StartsWith("No difference beyond noise: the steps of \"cap 4 MiB\", the best, "
                               "took 0.950 of those"),
                    HasSubstr("(0.900 to 1.010)")));
}

TEST(TuneRunsTest, TheRunsOwnSettingsMayWin) {
  EXPECT_THAT(verdictText(measured({1.1, 1.05, 1.15}, {1.3, 1.2, 1.4})),
              StartsWith("The run's own settings won: the steps of the next best, \"cap 4 MiB\", "
                         "took 1.100 of those"));
}

TEST(TuneRunsTest, OneRoundTellsNothing) {
  std::vector<MeasuredSettings> runs = measured({}, {});
  runs[1].ratio.reset();
  runs[2].ratio.reset();
  EXPECT_EQ(winnerOf(runs), nullptr);
  EXPECT_EQ(verdictText(runs),
            "Nothing can be told: it takes two rounds to tell chance from effect.");
}

/// How many rounds it takes to tell of settings whose steps take `ratio` of the run's own, where
/// one round is above that by `noise` ms and the next below.
std::size_t roundsFor(double ratio, double noise, int most = 15) {
  const auto runs = inRounds(
      {{{}, {}}, {{}, {}}}, most,
      [&](const analysis::TunedSettings&, int round, std::size_t number) -> base::Result<double> {
        return number == 0 ? 10 : 10 * ratio + (round % 2 == 0 ? noise : -noise);
      });
  EXPECT_TRUE(runs.ok());
  EXPECT_EQ(runs.value()[0].stepMs.size(), runs.value()[1].stepMs.size());
  return runs.value()[0].stepMs.size();
}

TEST(TuneRunsTest, RoundsEndAsSoonAsTheyTell) {
  EXPECT_EQ(roundsFor(0.9, 0.1), 5U) << "faster";
  EXPECT_EQ(roundsFor(0.93, 0.3), 10U) << "faster, but not seen in five rounds";
  EXPECT_EQ(roundsFor(1.0, 0.01), 5U) << "not faster by a hundredth";
  EXPECT_EQ(roundsFor(0.98, 3), 15U) << "nothing to be told";
  EXPECT_EQ(roundsFor(0.98, 3, 2), 2U) << "no more than allowed";
}

TEST(TuneRunsTest, WhatMayBeFasterThanTheFastestIsRunOn) {
  EXPECT_TRUE(isTold(measured({0.8, 0.75, 0.85}, {0.9, 0.85, 1.02})));
  EXPECT_FALSE(isTold(measured({0.8, 0.7, 1.01}, {0.9, 0.88, 0.92})));
}

TEST(TuneRunsTest, ARunThatFailsEndsTheRounds) {
  const auto runs =
      inRounds({{{}, {}}, {{}, {}}}, 15,
               [&](const analysis::TunedSettings&, int round, std::size_t) -> base::Result<double> {
                 if (round == 1) {
                   return base::Error{base::ExitCode::kRankKilled, "rank 1 was lost", {}};
                 }
                 return 10;
               });
  ASSERT_FALSE(runs.ok());
  EXPECT_EQ(runs.error().what, "rank 1 was lost");
}

}  // namespace
}  // namespace lockstep::cli

#include "engine/simulate/ScalingText.h"

#include <gmock/gmock.h>

#include "tests/engine/simulate/JitteredRun.h"

namespace lockstep::simulate {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

RanksForecast row(int ranks, double value) {
  RanksForecast of;
  of.ranks = ranks;
  of.efficiency = {value, value - 0.05, value + 0.05};
  of.bound = Bound::kStragglers;
  return of;
}

std::string breaking(const std::vector<RanksForecast>& rows) {
  return breakingText(breakingPoint(rows, 0.8), rows);
}

TEST(ScalingText, EfficiencyIsAPercentageWithItsInterval) {
  EXPECT_EQ(efficiencyText({0.81, 0.77, 0.84}), "81 % (77 to 84 %)");
}

TEST(ScalingText, SaysFromWhereOnAndByWhat) {
  EXPECT_EQ(breaking({row(8, 0.95), row(4096, 0.5)}),
            "Efficiency falls below 80 % from about 64 ranks on (32 to 128), by stragglers' "
            "jitter.");
  EXPECT_THAT(breaking({row(8, 0.95), row(4096, 0.78)}), HasSubstr(" or more), by stragglers'"));
}

TEST(ScalingText, SaysWhereItNeverOrAlwaysIs) {
  EXPECT_EQ(breaking({row(8, 0.95), row(4096, 0.9)}),
            "Efficiency stays at 80 % or more up to 4,096 ranks.");
  EXPECT_EQ(breaking({row(8, 0.95), row(4096, 0.82)}),
            "Efficiency stays at 80 % or more up to 4,096 ranks; by the low end of its interval it "
            "may fall below that from 971 ranks on.");
  EXPECT_EQ(breaking({row(8, 0.7), row(16, 0.6)}),
            "Efficiency is below 80 % on the 8 recorded ranks already.");
}

std::string tail(std::uint32_t steps) {
  cost::test::SleepingRun run;
  ScalingQuestion question;
  question.run = {test::jittered(run, 2, steps, 5e6, 1),
                  cost::KnownTransfer{run.nsPerByte, run.latencyNs},
                  1,
                  {}};
  question.ranks = {64, 256};
  const auto made = Scaling::make(std::move(question));
  EXPECT_TRUE(made.ok()) << made.error().message();
  return tailText(made.value(), made.value().forecast());
}

TEST(ScalingText, SaysWhatIsBehindTheLatestOfMoreRanksThanWereSeen) {
  EXPECT_THAT(tail(60), StartsWith("From 256 ranks on a step has more ranks than the recording has "
                                   "steps of ranks, 120: how late its last rank comes is "
                                   "extrapolated by a tail that was fitted to the 18 latest of "
                                   "them (generalised Pareto, scale "));
  EXPECT_THAT(tail(60), ContainsRegex("shape (\u2212)?[0-9]\\.[0-9][0-9]\\)")) << "no hyphen";
  EXPECT_THAT(tail(10), HasSubstr("20: too few for a tail, so that no rank is simulated later than "
                                  "the latest that was recorded."));
}

}  // namespace
}  // namespace lockstep::simulate

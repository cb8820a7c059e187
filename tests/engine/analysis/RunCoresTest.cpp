#include "engine/analysis/RunCores.h"

#include <gtest/gtest.h>

namespace lockstep::analysis {
namespace {

/// Two ranks on a machine of four cores that keep 0.6 and 0.8 of a core busy.
struct OnFourCores {
  RunData data;
  trace::RunInfo info;
  std::vector<trace::RankInfo> ranks = std::vector<trace::RankInfo>(2);

  OnFourCores() {
    info.worldSize = 2;
    info.environment["cores"] = "4";
    trace::RunUpdate update;
    for (int rank = 0; rank < 2; ++rank) {
      ranks[static_cast<std::size_t>(rank)].rank = rank;
      ranks[static_cast<std::size_t>(rank)].environment = {{"cores", "any"}, {"device", "cpu"}};
      for (std::uint32_t step = 0; step < 7; ++step) {
        trace::MetricRow& row = update.metrics.emplace_back();
        row.rank = rank;
        row.name = "cpu_percent";
        row.step = step;
        row.value = step < 2 ? 100 : 60 + 20 * rank;
      }
    }
    data.take(update);
  }

  [[nodiscard]] std::optional<cost::Cores> cores() const { return coresOf(data, info, ranks); }
};

TEST(RunCoresTest, SaysHowManyThereAreAndWhatARunKeepsBusyOnceItTrains) {
  const auto cores = OnFourCores().cores();
  ASSERT_TRUE(cores);
  EXPECT_EQ(cores->count, 4);
  EXPECT_EQ(cores->ranks, 2);
  EXPECT_NEAR(cores->busy, 1.4, 1e-9);
}

TEST(RunCoresTest, OfRanksThatArePinnedTheirCoresCount) {
  OnFourCores run;
  run.ranks[0].environment["cores"] = "0 1";
  EXPECT_EQ(run.cores()->count, 4) << "the other one may run on any";
  run.ranks[1].environment["cores"] = "1 2";
  EXPECT_EQ(run.cores()->count, 3);
}

TEST(RunCoresTest, SaysNothingWhereItIsNotKnown) {
  OnFourCores elsewhere;
  elsewhere.ranks[1].host = 1;
  EXPECT_FALSE(elsewhere.cores()) << "of another host's cores nothing is recorded";
  OnFourCores device;
  device.ranks[0].environment["device"] = "cuda:0";
  EXPECT_FALSE(device.cores()) << "a hook works there";
  OnFourCores brief;
  brief.data.busy[1] = {240, 4};
  EXPECT_FALSE(brief.cores()) << "four values of one rank";
  OnFourCores old;
  old.info.environment.clear();
  EXPECT_FALSE(old.cores());
  OnFourCores missing;
  missing.ranks.pop_back();
  EXPECT_FALSE(missing.cores());
}

}  // namespace
}  // namespace lockstep::analysis

#include "engine/analysis/TuneRun.h"

#include <gmock/gmock.h>

namespace lockstep::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TuneRunTest, SettingsAreSaidAndWrittenAsKeys) {
  TunedSettings settings;
  EXPECT_TRUE(settings.isOwn());
  EXPECT_EQ(settings.text(), "the run's own");
  EXPECT_THAT(settings.keys(), IsEmpty());
  settings.capMb = 4;
  settings.firstCapMb = 1;
  settings.inFlight = 2;
  settings.views = true;
  settings.hook = experiment::HookConfig{{"fp16", "", {}}, {}};
  EXPECT_EQ(settings.count(), 4u);
  EXPECT_EQ(settings.text(), "cap 4 MiB, 2 in flight, gradients as views, hook fp16");
  EXPECT_THAT(settings.keys(),
              ElementsAre("ddp.bucket_cap_mb = 4", "ddp.first_bucket_mb = 1", "link.in_flight = 2",
                          "ddp.gradient_as_bucket_view = true", "hook.name = \"fp16\""));
  const experiment::Experiment applied = settings.appliedTo({});
  EXPECT_EQ(applied.ddp.bucketCapMb, 4);
  EXPECT_EQ(applied.ddp.firstBucketMb, 1);
  EXPECT_TRUE(applied.ddp.gradientAsBucketView);
  EXPECT_EQ(applied.link.inFlight, 2);
  EXPECT_EQ(applied.hook.name, "fp16");
}

TEST(TuneRunTest, AListOfCapsIsWrittenToTheByte) {
  TunedSettings settings;
  settings.capList = {0.25, 0.000003814697265625};
  EXPECT_EQ(settings.text(), "a list of 2 caps");
  EXPECT_THAT(settings.keys(), ElementsAre("ddp.bucket_cap_mb_list = [0.25, 3.814697265625e-06]"));
  EXPECT_EQ(settings.appliedTo({}).ddp.bucketCapMbList, settings.capList);
}

TEST(TuneRunTest, IsSurelyBetterWhereEachRanksIntervalIs) {
  TuneCandidate candidate;
  EXPECT_FALSE(candidate.isSurelyBetter());
  cost::RankForecast of;
  of.measuredStepNs = 10;
  of.stepNs = {8, 7, 9};
  candidate.ranks = {of, of};
  EXPECT_TRUE(candidate.isSurelyBetter());
  EXPECT_EQ(candidate.stepNs().value, 8);
  candidate.ranks[1].stepNs.high = 11;
  EXPECT_FALSE(candidate.isSurelyBetter());
  EXPECT_EQ(candidate.stepNs().high, 10);
}

}  // namespace
}  // namespace lockstep::analysis

#include "ui/panels/runs/RunSettings.h"

#include <gtest/gtest.h>

#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {
namespace {

trace::RunSummary summaryOf(const std::string& experiment) {
  trace::RunSummary summary;
  summary.info.experimentToml = experiment;
  return summary;
}

RunEntry named(const QString& name, const RunSettings& settings) {
  RunEntry run;
  run.name = name;
  run.settings = settings;
  return run;
}

TEST(RunSettingsTest, KeepsWhatIsNotTheDefault) {
  const RunSettings settings = runSettingsOf(
      summaryOf("name = \"demo\"\n[ddp]\nbucket_cap_mb = 5\nfirst_bucket_mb = 1\n[hook]\nname = "
                "\"powersgd\"\nrank = 2\n"));
  EXPECT_EQ(settings.value("ddp.bucket_cap_mb"), "5");
  EXPECT_EQ(settings.value("hook.name"), "powersgd");
  EXPECT_EQ(settings.value("hook.rank"), "2") << "of the plugin, too";
  EXPECT_FALSE(settings.contains("name"));
  EXPECT_EQ(settingText(settings, "ddp.bucket_cap_mb"), "5");
  EXPECT_EQ(settingText({}, "ddp.bucket_cap_mb"), "25");
  EXPECT_EQ(settingText({}, "hook.rank"), "");
}

TEST(RunSettingsTest, AKeyMayBeWrittenByItsLastPart) {
  EXPECT_EQ(settingKey("bucket_cap_mb"), "ddp.bucket_cap_mb");
  EXPECT_EQ(settingKey("hook.rank"), "hook.rank");
  EXPECT_EQ(settingKey("no_such_key"), "");
}

TEST(RunSettingsTest, RunsOfOneNameAreToldApartByWhatDiffers) {
  std::vector<RunEntry> runs{named("demo", {{"train.steps", "50"}}),
                             named("demo", {{"train.steps", "50"}, {"ddp.bucket_cap_mb", "5"}}),
                             named("demo", {{"train.steps", "50"}, {"hook.name", "powersgd"}}),
                             named("other", {{"train.steps", "9"}})};
  nameDifferences(runs);
  EXPECT_EQ(runs[0].subtitle, "bucket_cap_mb 25 · hook allreduce");
  EXPECT_EQ(runs[1].subtitle, "bucket_cap_mb 5 · hook allreduce");
  EXPECT_EQ(runs[2].subtitle, "bucket_cap_mb 25 · hook powersgd");
  EXPECT_EQ(runs[3].subtitle, "") << "it stands alone";
}

TEST(RunSettingsTest, RepeatsOfARunHaveNothingThatTellsThemApart) {
  std::vector<RunEntry> runs{named("demo", {{"train.steps", "50"}}),
                             named("demo", {{"train.steps", "50"}})};
  nameDifferences(runs);
  EXPECT_EQ(runs[0].subtitle, "");
}

}  // namespace
}  // namespace lockstep::ui

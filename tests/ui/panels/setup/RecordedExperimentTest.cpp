#include "ui/panels/setup/RecordedExperiment.h"

#include <gtest/gtest.h>

#include "engine/experiment/ExperimentText.h"
#include "engine/experiment/Parse.h"

namespace lockstep::ui {
namespace {

TEST(RecordedExperiment, IsWrittenWithWhatIsNotTheDefaultAlone) {
  experiment::Experiment run;
  run.name = "demo";
  run.train.steps = 77;
  run.ddp.bucketCapMb = 0.5;
  run.hook.name = "powersgd";
  run.hook.values["rank"] = std::int64_t{2};
  run.sweep = {"demo 20260101", "seed=2"};
  const std::string text = asWritten(experiment::toToml(run), "the \"best\" so far");
  const experiment::ExperimentText keys(text);
  EXPECT_EQ(keys.value("ddp.bucket_cap_mb"), "0.5");
  EXPECT_FALSE(keys.value("data.batch_size"));
  EXPECT_FALSE(keys.value("sweep.group"));
  const auto again = experiment::parseText(text, "again", "/");
  ASSERT_TRUE(again.mistakes.empty()) << again.mistakes.front().message();
  EXPECT_EQ(again.experiment.name, "the \"best\" so far");
  run.name = again.experiment.name;
  run.sweep = {};
  const auto before = experiment::parseText(experiment::toToml(run), "run", "/");
  EXPECT_EQ(experiment::toToml(again.experiment), experiment::toToml(before.experiment))
      << "else as it was";
}

}  // namespace
}  // namespace lockstep::ui

#include "ui/panels/setup/RunFiles.h"

#include <gtest/gtest.h>

#include <QFileInfo>
#include <QStringList>

#include "engine/experiment/Parse.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::ui {
namespace {

TEST(RunFiles, WriteACopyWithChangedKeysNamedAfterThem) {
  const support::TemporaryFolder folder;
  const QString drafts = QString::fromStdString((folder / "drafts").string());
  experiment::Experiment before;
  before.name = "demo";
  before.train.steps = 10;
  before.ddp.findUnusedParameters = true;
  before.sweep = {"demo 20260101", "seed=2"};
  const QString path =
      writeChanged(experiment::toToml(before),
                   {{"ddp.find_unused_parameters", "false"}, {"ddp.bucket_cap_mb", "4"}}, drafts,
                   [](const QString& sentence) { FAIL() << sentence.toStdString(); });
  EXPECT_EQ(QFileInfo(path).fileName(), "demo-find_unused_parameters=false,-bucket_cap_mb=4.toml");
  const auto after = experiment::parseFile(path.toStdString());
  ASSERT_TRUE(after.mistakes.empty()) << after.mistakes.front().message();
  EXPECT_EQ(after.experiment.name, "demo find_unused_parameters=false, bucket_cap_mb=4");
  EXPECT_FALSE(after.experiment.ddp.findUnusedParameters);
  EXPECT_EQ(after.experiment.ddp.bucketCapMb, 4);
  EXPECT_TRUE(after.experiment.sweep.group.empty()) << "it is no run of that sweep";
}

TEST(RunFiles, WriteNoParametersOfTheHookThatGivesWay) {
  const support::TemporaryFolder folder;
  const QString path = writeChanged(
      "name = \"thin\"\n[train]\nsteps = 10\n[hook]\nname = \"powersgd\"\nrank = 2\n[hook.inner]\nname = \"fp16\"\n",
      {{"hook.name", "\"allreduce\""}}, QString::fromStdString(folder.path().string()),
      [](const QString& sentence) { FAIL() << sentence.toStdString(); });
  const auto after = experiment::parseFile(path.toStdString());
  ASSERT_TRUE(after.mistakes.empty()) << after.mistakes.front().message();
  EXPECT_EQ(after.experiment.name, "thin hook=allreduce");
  EXPECT_TRUE(after.experiment.hook.isOwn());
}

TEST(RunFiles, SayWhyAChangeMakesNoExperiment) {
  const support::TemporaryFolder folder;
  QStringList said;
  const QString path = writeChanged("name = \"demo\"\n[train]\nsteps = 10\n", {{"processes.world_size", "0"}},
                                    QString::fromStdString(folder.path().string()),
                                    [&said](const QString& sentence) { said << sentence; });
  EXPECT_TRUE(path.isEmpty());
  ASSERT_EQ(said.size(), 1);
  EXPECT_TRUE(said.front().contains("processes.world_size")) << said.front().toStdString();
}

}  // namespace
}  // namespace lockstep::ui

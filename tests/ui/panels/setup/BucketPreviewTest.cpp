#include <gmock/gmock.h>

#include <QComboBox>
#include <QFile>
#include <QStandardItemModel>
#include <QTableView>
#include <algorithm>

#include "tests/support/TemporaryFolder.h"
#include "tests/ui/shell/Screen.h"
#include "ui/panels/setup/BucketPreview.h"
#include "ui/panels/setup/BucketPreviewScene.h"
#include "ui/panels/setup/ModelDescriber.h"

namespace lockstep::ui {
namespace {

using testing::ElementsAre;
using tests::waitUntil;

constexpr std::uint64_t kKiB = 1024;

// Caps of 256 and 512 KiB. From the last parameter to the first: d (100) and c (500) are 600, which
// is 256 or more, so they are bucket 0; b (300) and a (400) are 700, which is 512 or more.
std::vector<ModelParameter> fourParameters() {
  return {{"a", {100, 1024}, "float32", 400 * kKiB},
          {"b", {75, 1024}, "float32", 300 * kKiB},
          {"c", {125, 1024}, "float32", 500 * kKiB},
          {"d", {25, 1024}, "float32", 100 * kKiB}};
}

experiment::Experiment capped() {
  experiment::Experiment experiment;
  experiment.ddp.firstBucketMb = 0.25;
  experiment.ddp.bucketCapMb = 0.5;
  return experiment;
}

TEST(BucketForecast, FillsBucketsFromTheLastParameterToTheFirst) {
  const auto forecast = forecastBuckets(fourParameters(), capped());
  EXPECT_THAT(forecast.rebuilt.indices(), ElementsAre(ElementsAre(3, 2), ElementsAre(1, 0)));
  EXPECT_EQ(forecast.rebuilt.buckets[1].bytes, 700 * kKiB);
  EXPECT_THAT(forecast.first.indices(), ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_EQ(forecast.summary(true).toStdString(),
            "2 buckets, 1.27 MiB in all; the largest holds 700 KiB. Gradients are taken to get "
            "ready from the last parameter to the first.");
}

TEST(BucketForecast, LeavesOutWhatIsNotReducedInBuckets) {
  auto experiment = capped();
  experiment.ddp.ignore = {"c"};
  experiment.ddp.delayAllReduceNamedParams = {"a"};
  const auto forecast = forecastBuckets(fourParameters(), experiment);
  EXPECT_EQ(forecast.left, 2U);
  EXPECT_THAT(forecast.rebuilt.indices(), ElementsAre(ElementsAre(1, 0)));
  EXPECT_EQ(forecast.parameters[1].name, "d");
}

TEST(BucketForecast, WithoutARebuildTheCapsHoldFromTheStart) {
  auto experiment = capped();
  experiment.ddp.findUnusedParameters = true;
  const auto forecast = forecastBuckets(fourParameters(), experiment);
  EXPECT_FALSE(forecast.rebuilds);
  EXPECT_EQ(forecast.rebuilt, forecast.first);
  EXPECT_GT(forecast.first.buckets.size(), 1U);
}

TEST(BucketForecast, SaysThatOneProcessHasNone) {
  auto experiment = capped();
  experiment.processes.strategy = "data_parallel";
  EXPECT_EQ(forecastBuckets(fourParameters(), experiment).summary(true),
            "Without DDP there are no buckets.");
}

TEST(BucketPreviewScene, DrawsARowABucketAndSaysWhatLiesUnderThePointer) {
  const auto forecast = forecastBuckets(fourParameters(), capped());
  const BucketPreviewScene scene(forecast, true, Palette::of(Theme::kLight), 400);
  DisplayList list;
  scene.draw(list);
  const auto texts = list.texts();
  EXPECT_NE(std::find(texts.begin(), texts.end(), "600 KiB · 2"), texts.end());
  EXPECT_NE(std::find(texts.begin(), texts.end(), "700 KiB · 2"), texts.end());
  const QString cell = scene.describe({40, 18});
  EXPECT_TRUE(cell.contains("Bucket 0: 600 KiB, 2 parameters, float32")) << cell.toStdString();
  EXPECT_TRUE(cell.contains("344 KiB over")) << cell.toStdString();
  EXPECT_TRUE(cell.contains("d: 25 × 1024, 100 KiB")) << cell.toStdString();
  EXPECT_TRUE(scene.describe({40, 400}).isEmpty());
}

class DescribedModel : public testing::Test {
 protected:
  QString rankThat(const std::string& script) {
    const auto path = folder_.write("lockstep-rank", "#!/bin/sh\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return QString::fromStdString(path.string());
  }
  static experiment::Experiment experiment(std::int64_t width = 10) {
    auto made = capped();
    made.model.layers = {784, width};
    made.train.steps = 1;
    return made;
  }
  support::TemporaryFolder folder_;
};

TEST_F(DescribedModel, IsShownAsADrawingAndAsATable) {
  ModelDescriber describer(rankThat(
      R"(echo '{"parameters":[{"name":"w","shape":[784,10],"dtype":"float32","bytes":31360},
{"name":"b","shape":[10],"dtype":"float32","bytes":40}]}')"));
  BucketPreview preview(describer);
  preview.resize(360, 260);
  preview.QWidget::show();
  QObject::connect(&describer, &ModelDescriber::changed, [&] { preview.show(experiment()); });
  describer.ask(experiment());
  EXPECT_TRUE(preview.summary().startsWith("Asking lockstep-rank"))
      << preview.summary().toStdString();
  ASSERT_TRUE(waitUntil([&] { return !preview.forecast().parameters.empty(); }))
      << describer.problem().toStdString();
  EXPECT_TRUE(preview.summary().startsWith("1 bucket of 30.7 KiB."))
      << preview.summary().toStdString();
  auto* table = preview.findChild<QTableView*>();
  EXPECT_EQ(table->model()->rowCount(), 1);
  EXPECT_EQ(table->model()->index(0, 1).data().toULongLong(), 31'400U);
  EXPECT_EQ(table->model()->index(0, 5).data().toString(), "b, w");
  preview.findChild<QComboBox*>()->setCurrentIndex(0);
  EXPECT_EQ(table->model()->index(0, 2).data().toString(), "none");
}

TEST_F(DescribedModel, WhatLockstepRankSaysAgainstAModelIsShown) {
  ModelDescriber describer(rankThat("echo 'lockstep-rank: model.layers: no' >&2; exit 2"));
  describer.ask(experiment());
  ASSERT_TRUE(waitUntil([&] { return !describer.isAsking(); }));
  EXPECT_EQ(describer.problem(), "model.layers: no");
}

TEST_F(DescribedModel, OnlyTheLastOfSeveralQuestionsIsAsked) {
  const auto log = (folder_ / "log").string();
  ModelDescriber describer(rankThat("echo asked >> " + log + "; grep layers $2 >> " + log +
                                    "; echo '{\"parameters\":[]}'"));
  describer.ask(experiment(10));
  describer.ask(experiment(20));
  ASSERT_TRUE(waitUntil([&] { return !describer.isAsking(); }));
  EXPECT_EQ(support::readFile(log), "asked\nlayers = [784, 20]\n");
  auto other = experiment(20);
  other.ddp.bucketCapMb = 3;  // does not change the shapes
  describer.ask(other);
  EXPECT_FALSE(describer.isAsking());
}

TEST_F(DescribedModel, SaysThatLockstepRankIsNotInstalled) {
  ModelDescriber describer("/no/such/lockstep-rank");
  BucketPreview preview(describer);
  preview.show(experiment());
  EXPECT_TRUE(preview.summary().startsWith("lockstep-rank is not installed here"));
}

TEST_F(DescribedModel, SaysWhyThereIsNoLockstepRankYet) {
  ModelDescriber describer("");
  BucketPreview preview(describer);
  describer.setRank("", "It is being built.");
  preview.show(experiment());
  EXPECT_TRUE(preview.summary().startsWith("It is being built."));
}

}  // namespace
}  // namespace lockstep::ui

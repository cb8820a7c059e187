#include "engine/train/Resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/train/data/Dataset.h"
#include "tests/engine/train/Files.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

TEST(ResourcePath, FindsTheShippedDataBesideTheBuildFolder) {
  unsetenv("LOCKSTEP_RESOURCES");
  const auto path = resourcePath("datasets/mnist10k");
  ASSERT_TRUE(path.ok()) << path.error().message();
  EXPECT_TRUE(std::filesystem::is_directory(path.value()));
}

TEST(ResourcePath, LooksInTheFolderThatIsSetAndSaysSoWhenItIsNotThere) {
  const support::TemporaryFolder folder;
  setenv("LOCKSTEP_RESOURCES", folder.path().c_str(), 1);
  const auto missing = resourcePath("datasets/mnist10k");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), testing::HasSubstr(folder.path().string()));
  writeFile(folder / "thing", "x");
  EXPECT_EQ(resourcePath("thing").value(), folder / "thing");
  unsetenv("LOCKSTEP_RESOURCES");
}

TEST(MakeDatasets, ReadsWhatIsShippedWhenNoFolderIsGiven) {
  unsetenv("LOCKSTEP_RESOURCES");
  experiment::Experiment experiment;
  const auto digits = makeDatasets(experiment);
  ASSERT_TRUE(digits.ok()) << digits.error().message();
  EXPECT_EQ(digits.value().train->size(), 8000);
  EXPECT_EQ(digits.value().test->size(), 2000);
  EXPECT_EQ(digits.value().train->shape().classes, 10);

  experiment.data.kind = "text";
  const auto text = makeDatasets(experiment);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_GT(text.value().train->size(), 10000);
  EXPECT_GT(text.value().train->shape().classes, 50);
}

TEST(MakeDatasets, ShapesSyntheticSamplesAsTheModelTakesThem) {
  experiment::Experiment experiment;
  experiment.data.kind = "synthetic";
  experiment.model.layers = {33, 20, 7};
  EXPECT_EQ(expectedShape(experiment).value().sample, (std::vector<std::int64_t>{33}));
  EXPECT_EQ(expectedShape(experiment).value().classes, 7);
  experiment.model.kind = "resnet18";
  EXPECT_EQ(makeDatasets(experiment).value().train->shape().sample,
            (std::vector<std::int64_t>{3, 32, 32}));
  experiment.model.kind = "char_gpt";
  EXPECT_THAT(makeDatasets(experiment).error().message(),
              testing::HasSubstr("data.kind: synthetic data are numbers"));
}

}  // namespace
}  // namespace lockstep::train

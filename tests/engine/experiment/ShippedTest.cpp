#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "engine/experiment/Listing.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::experiment {
namespace {

/// The experiments that are shipped, from the tree the test was built in.
std::filesystem::path experiments() {
  const char* source = std::getenv("LOCKSTEP_SOURCE");
  return std::filesystem::path(source != nullptr ? source : LOCKSTEP_TEST_SOURCE) / "experiments";
}

TEST(ShippedExperiments, AreWithoutMistakeAndSayWhatTheyShowAndWhatToLookFor) {
  const auto list = listExperiments(experiments());
  ASSERT_TRUE(list.ok()) << list.error().message();
  std::set<std::string> names;
  for (const ListedExperiment& listed : list.value()) {
    for (const Mistake& mistake : listed.mistakes) {
      ADD_FAILURE() << mistake.message();
    }
    EXPECT_FALSE(listed.shows.empty()) << listed.path;
    EXPECT_FALSE(listed.lookFor.empty()) << listed.path;
    EXPECT_TRUE(names.insert(listed.name).second) << listed.name << " names two experiments";
  }
}

TEST(ShippedExperiments, CoverEveryModel) {
  const auto list = listExperiments(experiments() / "first_steps");
  ASSERT_TRUE(list.ok()) << list.error().message();
  std::set<std::string> kinds;
  for (const ListedExperiment& listed : list.value()) {
    kinds.insert(parseFile(listed.path).experiment.model.kind);
  }
  EXPECT_THAT(kinds, testing::UnorderedElementsAre("mlp", "cnn", "resnet18", "char_gpt",
                                                   "deep_linear", "torchscript", "shapes"));
}

TEST(ShippedExperiments, WriteOutWorldSizeAndBucketCap) {
  const auto list = listExperiments(experiments() / "first_steps");
  ASSERT_TRUE(list.ok()) << list.error().message();
  for (const ListedExperiment& listed : list.value()) {
    const std::string text = support::readFile(listed.path);
    EXPECT_THAT(text, testing::HasSubstr("\nworld_size = ")) << listed.path;
    EXPECT_THAT(text, testing::HasSubstr("\nbucket_cap_mb = ")) << listed.path;
  }
}

}  // namespace
}  // namespace lockstep::experiment

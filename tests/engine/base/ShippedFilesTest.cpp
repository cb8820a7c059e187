#include "engine/base/ShippedFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep::base {
namespace {

namespace fs = std::filesystem;

TEST(ShippedFiles, AreLookedForFromTheProgramOnAndInAnInstallationFirst) {
  const fs::path program = programFolder();
  EXPECT_TRUE(fs::exists(program / "test_engine_base")) << program;
  const auto places = shippedPlaces("datasets", "resources/datasets");
  EXPECT_THAT(places,
              testing::ElementsAre(
                  program.parent_path() / "share/lockstep/datasets",
                  program.parent_path().parent_path() / "resources/datasets",
                  program.parent_path().parent_path().parent_path() / "resources/datasets"));
}

TEST(ShippedFiles, OfASourceTreeStandAboveItsBuildFolder) {
  const auto places = shippedPlaces("experiments", "experiments");
  const auto found = std::find_if(places.begin(), places.end(),
                                  [](const fs::path& place) { return fs::is_directory(place); });
  ASSERT_NE(found, places.end());
  EXPECT_TRUE(fs::is_regular_file(*found / "first_steps/demo.toml")) << *found;
}

TEST(ShippedFiles, HelpersStandBesideProgramsThatAreNotInstalled) {
  EXPECT_EQ(helperProgram("lockstep-hookscan"), programFolder() / "lockstep-hookscan");
}

}  // namespace
}  // namespace lockstep::base

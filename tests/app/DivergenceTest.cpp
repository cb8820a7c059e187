#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

/// What `lockstep info` finds of replicas that differ, in runs of real ranks.
class DivergenceTest : public CommandLineTest {
 protected:
  void run(const std::string& experiment, const std::vector<std::string>& sets = {}) {
    std::vector<std::string> arguments{"run", experiment, "--quiet", "--out", "r.lockstep"};
    for (const auto& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    const auto ended = lockstep(arguments);
    ASSERT_EQ(ended.exitCode, 0) << ended.err;
  }

  static std::string shipped(const std::string& name) {
    return std::string(LOCKSTEP_TEST_SOURCE) + "/experiments/faults/" + name + ".toml";
  }

  std::string info() { return lockstep({"info", "r.lockstep"}).out; }

  Json divergence() {
    const auto ended = lockstep({"info", "r.lockstep", "--json"});
    return ended.exitCode == 0 ? Json::parse(ended.out)["divergence"] : Json();
  }
};

TEST_F(DivergenceTest, TheFirstBadCellOfTheFlippedBitIsTheInjectedOne) {
  run(shipped("flip_bit"), {"train.steps=70", "train.evaluate_at_end=false"});
  const Json first = divergence()["first_difference"];
  EXPECT_EQ(first["step"], 60);
  EXPECT_EQ(first["last_equal_step"], 50);
  EXPECT_EQ(first["parameter"], "layers.0.weight");
  EXPECT_EQ(first["parameters_differing"], 1);
  EXPECT_EQ(first["ranks"], Json({1}));
  EXPECT_EQ(first["majority"], false);
  EXPECT_THAT(info(), HasSubstr("DIFFER at step 60: layers.0.weight, rank 1 against rank 0"));
}

TEST_F(DivergenceTest, TheNanIsFoundOnItsRankBeforeItIsAveraged) {
  run(shipped("nan"), {"train.steps=70", "train.evaluate_at_end=false"});
  const Json found = divergence();
  ASSERT_FALSE(found["gradients_not_finite"].empty());
  const Json first = found["gradients_not_finite"][0];
  EXPECT_EQ(first["step"], 60);
  EXPECT_EQ(first["rank"], 1);
  EXPECT_EQ(first["parameter"], "layers.1.weight");
  EXPECT_EQ(first["nans"], 1);
  EXPECT_THAT(info(), HasSubstr("1 NaN on rank 1 at step 60, before they were averaged, first in "
                                "layers.1.weight"));
}

TEST_F(DivergenceTest, AFlipBetweenTwoSamplesIsFoundAtTheNextAndNamesTheRankOfThree) {
  const std::string fault =
      "[[faults]]\nkind = \"flip_bit\"\nrank = 2\nstep = 3\nparameter = \"layers.0.weight\"\n"
      "bit = 20\n";
  run(experiment(fault), {"processes.world_size=3", "capture.fingerprint_every=2"});
  const Json found = divergence();
  EXPECT_EQ(found["first_difference"]["step"], 4) << found.dump(2);
  EXPECT_EQ(found["first_difference"]["last_equal_step"], 2);
  EXPECT_EQ(found["first_difference"]["ranks"], Json({2}));
  EXPECT_EQ(found["first_difference"]["majority"], true);
  EXPECT_GT(found["consensus_distance"].get<double>(), 0);
}

TEST_F(DivergenceTest, EqualReplicasAreSaidToBeEqual) {
  run(experiment(), {"capture.fingerprint_every=1"});
  const Json found = divergence();
  EXPECT_TRUE(found["first_difference"].is_null()) << found.dump(2);
  EXPECT_EQ(found["consensus_distance"], 0);
  EXPECT_THAT(info(), HasSubstr("equal in "));
}

TEST_F(DivergenceTest, NothingIsSampledWhenBothAreTurnedOff) {
  run(experiment(), {"capture.fingerprint_every=0", "capture.gradient_check_every=0"});
  EXPECT_TRUE(divergence().is_null());
}

}  // namespace
}  // namespace lockstep::cli

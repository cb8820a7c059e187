#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

/// What `lockstep info` finds of replicas that differ, in runs of real ranks.
class DivergenceTest : public CommandLineTest {
 protected:
  static constexpr int kDiverged = 8;

  /// Returns what was said on the error stream.
  std::string run(const std::string& experiment, const std::vector<std::string>& sets,
                  int exitCode) {
    std::vector<std::string> arguments{"run", experiment, "--quiet", "--out", "r.lockstep"};
    for (const auto& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    const auto ended = lockstep(arguments);
    EXPECT_EQ(ended.exitCode, exitCode) << ended.err;
    return ended.err;
  }

  static std::string shipped(const std::string& name) {
    return std::string(LOCKSTEP_TEST_SOURCE) + "/experiments/faults/" + name + ".toml";
  }

  std::string info() { return lockstep({"info", "r.lockstep"}).out; }

  Json report() {
    const auto ended = lockstep({"info", "r.lockstep", "--json"});
    return ended.exitCode == 0 ? Json::parse(ended.out) : Json();
  }
  Json divergence() { return report()["divergence"]; }

  /// The texts of the Problems list.
  std::vector<std::string> problems() {
    std::vector<std::string> texts;
    const Json all = report();
    for (const Json& problem : all["problems"]) {
      texts.push_back(problem["text"]);
    }
    return texts;
  }
};

TEST_F(DivergenceTest, TheFirstBadCellOfTheFlippedBitIsTheInjectedOne) {
  const std::string said =
      run(shipped("flip_bit"), {"train.steps=70", "train.evaluate_at_end=false"}, kDiverged);
  EXPECT_THAT(said, StartsWith("lockstep: diverged: the replicas differ at step 60: "
                               "layers.0.weight of rank 1 "));
  const Json first = divergence()["first_difference"];
  EXPECT_EQ(first["step"], 60);
  EXPECT_EQ(first["last_equal_step"], 50);
  EXPECT_EQ(first["parameter"], "layers.0.weight");
  EXPECT_EQ(first["parameters_differing"], 1);
  EXPECT_EQ(first["ranks"], Json({1}));
  EXPECT_EQ(first["majority"], false);
  EXPECT_THAT(info(), HasSubstr("DIFFER at step 60: layers.0.weight, rank 1 against rank 0"));
  const Json all = report();
  EXPECT_EQ(all["state"], "diverged");
  EXPECT_EQ(all["exit_code"], kDiverged);
  EXPECT_EQ(all["diverged"]["step"], 60);
  EXPECT_EQ(all["diverged"]["rank"], 1);
  EXPECT_EQ(all["diverged"]["parameter"], "layers.0.weight");
  EXPECT_THAT(info(), AllOf(HasSubstr("state          diverged, exit code 8\n"),
                            HasSubstr("diverged       the replicas differ at step 60: ")));
  EXPECT_THAT(problems(), Not(Contains(HasSubstr("learning_rate"))));
}

TEST_F(DivergenceTest, TheNanIsFoundOnItsRankBeforeItIsAveraged) {
  run(shipped("nan"), {"train.steps=70", "train.evaluate_at_end=false"}, kDiverged);
  const Json diverged = report()["diverged"];
  EXPECT_EQ(diverged["step"], 60);
  EXPECT_EQ(diverged["rank"], 1);
  EXPECT_EQ(diverged["parameter"], "layers.1.weight");
  EXPECT_THAT(diverged["text"], HasSubstr("; the loss of rank 0 is NaN at step 61, after "));
  EXPECT_THAT(problems(), Not(Contains(HasSubstr("learning_rate"))));
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
  run(experiment(fault), {"processes.world_size=3", "capture.fingerprint_every=2"}, kDiverged);
  const Json found = divergence();
  EXPECT_EQ(found["first_difference"]["step"], 4) << found.dump(2);
  EXPECT_EQ(found["first_difference"]["last_equal_step"], 2);
  EXPECT_EQ(found["first_difference"]["ranks"], Json({2}));
  EXPECT_EQ(found["first_difference"]["majority"], true);
  EXPECT_GT(found["consensus_distance"].get<double>(), 0);
}

TEST_F(DivergenceTest, EqualReplicasAreSaidToBeEqual) {
  run(experiment(), {"capture.fingerprint_every=1"}, 0);
  const Json found = divergence();
  EXPECT_TRUE(found["first_difference"].is_null()) << found.dump(2);
  EXPECT_EQ(found["consensus_distance"], 0);
  EXPECT_THAT(info(), HasSubstr("equal in "));
}

TEST_F(DivergenceTest, NothingIsSampledWhenBothAreTurnedOff) {
  run(experiment(), {"capture.fingerprint_every=0", "capture.gradient_check_every=0"}, 0);
  EXPECT_TRUE(divergence().is_null());
  EXPECT_TRUE(report()["diverged"].is_null());
}

TEST_F(DivergenceTest, WithoutSamplesTheHashesOfTheEndStillTell) {
  const std::string fault =
      "[[faults]]\nkind = \"flip_bit\"\nrank = 1\nstep = 3\nparameter = \"layers.0.weight\"\n"
      "bit = 20\n";
  const std::string said =
      run(experiment(fault), {"capture.fingerprint_every=0", "capture.enabled=false"}, kDiverged);
  EXPECT_THAT(said, HasSubstr("the replicas differ after the last step: the parameters of rank 1 "
                              "are not those of rank 0"));
}

TEST_F(DivergenceTest, ParametersThatDdpIgnoresMayDiffer) {
  run(experiment(), {"ddp.ignore=[\"layers.0.bias\"]", "capture.fingerprint_every=0"}, 0);
  EXPECT_THAT(info(), Not(HasSubstr("DIFFER")));
}

TEST_F(DivergenceTest, ALearningRateIsBlamedWhereTheLossGrewBeforeItWasLost) {
  run(experiment(), {"optimizer.learning_rate=1e6"}, kDiverged);
  EXPECT_THAT(report()["diverged"]["text"], HasSubstr("the loss of rank 0 is NaN at step "));
  EXPECT_THAT(problems(), Contains(ContainsRegex("the loss of rank 0 grew from .* before it was "
                                                 "lost: lower optimizer.learning_rate")));
}

TEST_F(DivergenceTest, AHookThatDriftsByDesignIsNotBlamedForIt) {
  const std::string said =
      run(experiment("[hook]\nname = \"post_local_sgd\"\nstart = 0\nperiod = 100\n"),
          {"capture.fingerprint_every=1"}, 0);
  EXPECT_EQ(said, "");
  const Json all = report();
  EXPECT_EQ(all["state"], "finished");
  EXPECT_EQ(all["drifting_hook"], "post_local_sgd");
  EXPECT_TRUE(all["diverged"].is_null());
  EXPECT_GT(all["divergence"]["consensus_distance"].get<double>(), 0);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(info(), AllOf(ContainsRegex("replicas       drift by design .hook post_local_sgd.: "
                                          "first apart at step [0-9]+; .* from their mean at step"),
                            Not(HasSubstr("DIFFER"))));
}

TEST_F(DivergenceTest, TheEngineOwnHookWithoutCommunicationDriftsToo) {
  run(experiment("[hook]\nname = \"noop\"\n"), {"capture.fingerprint_every=1"}, 0);
  EXPECT_EQ(report()["drifting_hook"], "noop");
}

TEST_F(DivergenceTest, AHookThatDoesNotSayThatItDriftsIsBlamed) {
  const std::string hook = "[hook]\nname = \"misbehaving\"\nlibrary = \"" +
                           programBeside("broken_hooks/misbehaving.so").string() +
                           "\"\nwrong = \"own\"\nstep = 2\n";
  const std::string said = run(experiment(hook), {"capture.fingerprint_every=1"}, kDiverged);
  EXPECT_THAT(said, HasSubstr("diverged: the replicas differ at step 3: "));
}

}  // namespace
}  // namespace lockstep::cli

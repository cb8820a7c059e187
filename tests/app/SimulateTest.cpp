#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/SimulateOptions.h"
#include "tests/app/CommandLine.h"
#include "tests/app/SleepingRun.h"
#include "tests/app/VerifiedHalves.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

/// A run of two ranks with buckets of 0.25, 0.5, 0.5, 0.5 and 0.25 MiB, full at 11, 13, 15, 17 and
/// 18 ms, on a link of 4 ns a byte and 0.1 ms a hop.
class SimulateTest : public CommandLineTest {
 protected:
  SimulateTest() {
    run_.ddp.firstBucketMb = 0.25;
    run_.ddp.bucketCapMb = 0.5;
  }

  std::string written(const std::string& name = "run.lockstep") {
    run_.writeTo(folder / name);
    return name;
  }

  Json simulated(std::vector<std::string> words) {
    words.insert(words.begin(), "simulate");
    words.emplace_back("--json");
    const auto told = lockstep(words);
    EXPECT_EQ(told.exitCode, 0) << told.err;
    return told.exitCode == 0 ? Json::parse(told.out) : Json();
  }

  /// What `simulate` refuses something with.
  std::string refusal(std::vector<std::string> words) {
    words.insert(words.begin(), "simulate");
    const auto told = lockstep(words);
    EXPECT_EQ(told.exitCode, 2) << told.out;
    EXPECT_EQ(lineCount(told.err), 1) << told.err;
    return told.err;
  }

  SleepingRun run_;
};

// A ring of 16 takes 30 hops of 0.1 ms and 7.5 ns a byte: 4.9661 and 6.9322 ms for 0.25 and 0.5
// MiB, one after the other from 11 ms on. The last ends at 11 + 2 * 4.9661 + 3 * 6.9322 = 41.7286
// ms.
TEST_F(SimulateTest, SaysWhatAStepTakesOnMoreRanks) {
  const std::string name = written();
  const Json told = simulated({name, "--ranks", "2..16", "--algorithm", "ring"});
  EXPECT_EQ(told["simulated"], true);
  EXPECT_EQ(told["recorded_ranks"], 2);
  ASSERT_EQ(told["ranks"].size(), 4u);
  const Json& own = told["ranks"][0];
  EXPECT_EQ(own["ranks"], 2);
  EXPECT_EQ(own["extrapolated"], false);
  EXPECT_NEAR(own["step_ms"]["value"].get<double>(), 22.1401, 1e-3);
  EXPECT_NEAR(told["measured"]["step_ms"].get<double>(), 22.1401, 1e-3);
  const Json& most = told["ranks"][3];
  EXPECT_EQ(most["ranks"], 16);
  EXPECT_EQ(most["extrapolated"], true);
  EXPECT_NEAR(most["step_ms"]["value"].get<double>(), 42.7286, 1e-3);
  EXPECT_NEAR(most["exposed_ms"]["value"].get<double>(), 23.7286, 1e-3);
  EXPECT_NEAR(most["efficiency"]["value"].get<double>(), 19 / 42.7286, 1e-4);
  EXPECT_LT(most["step_ms"]["low"], most["step_ms"]["value"]);
  EXPECT_GT(most["step_ms"]["high"], most["step_ms"]["value"]);
  EXPECT_EQ(most["bound_by"], "bandwidth");
  EXPECT_EQ(most["allreduce"], "ring");
  EXPECT_LT(told["breaks"]["ranks"], 8);
  EXPECT_EQ(simulated({name, "--ranks", "2..16", "--algorithm", "ring"}), told);
}

TEST_F(SimulateTest, TakesTheFastestAlgorithmUnlessOneIsNamed) {
  const std::string name = written();
  const auto step = [&](const std::string& algorithm) {
    return simulated({name, "--ranks", "512", "--algorithm", algorithm})["ranks"][0];
  };
  const Json fastest = step("auto");
  EXPECT_EQ(fastest["allreduce"], "tree");
  EXPECT_NEAR(fastest["step_ms"]["value"].get<double>(),
              step("tree")["step_ms"]["value"].get<double>(), 1e-9);
  EXPECT_LT(fastest["step_ms"]["value"], step("ring")["step_ms"]["value"]);
}

// Between 2 nodes of 8 ranks a fast link; inside that of the run.
TEST_F(SimulateTest, TakesAnotherLinkBetweenNodes) {
  const std::string name = written();
  const Json told = simulated({name, "--ranks", "16", "--link", "5,100", "--ranks-per-node", "8"});
  EXPECT_EQ(told["link"]["latency_us"], 5);
  EXPECT_NEAR(told["link"]["bandwidth_gbps"].get<double>(), 100, 1e-9);
  EXPECT_NEAR(told["inside"]["bandwidth_gbps"].get<double>(), 2, 1e-9);
  EXPECT_EQ(told["ranks_per_node"], 8);
  EXPECT_EQ(told["ranks"][0]["allreduce"], "hierarchical");
  const Json preset = simulated({name, "--ranks", "16", "--link", "ethernet_10g_16"});
  EXPECT_NEAR(preset["link"]["latency_us"].get<double>(), 908 / 30.0, 0.01);
}

// Buckets are encoded 0.5 ms after they are full, travel by half, and are decoded in 0.25 ms. A
// ring of 32 takes 62 hops of 0.1 ms and 7.75 ns a byte: 7.2158 and 8.2316 ms for half of 0.25 and
// of 0.5 MiB, from 11.5 ms on.
TEST_F(SimulateTest, TakesTheHookOfAnotherRun) {
  const std::string plain = written();
  run_.halves = true;
  const std::string halves = written("halves.lockstep");
  const std::vector<std::string> words{plain,  "--ranks",     "2,32", "--hook-of",
                                       halves, "--algorithm", "ring"};
  const Json told = simulated(words);
  EXPECT_EQ(told["hook"]["name"], "fp16");
  EXPECT_NEAR(told["hook"]["share"].get<double>(), 0.5, 1e-3);
  EXPECT_NEAR(told["measured"]["step_ms"].get<double>(), 22.1401, 1e-3);
  EXPECT_NEAR(told["ranks"][0]["step_ms"]["value"].get<double>(), 20.7229, 1e-2)
      << "what whatif forecasts";
  EXPECT_NEAR(told["ranks"][1]["step_ms"]["value"].get<double>(), 51.8765, 1e-2);
  const Json own = simulated({halves, "--ranks", "32", "--algorithm", "ring"});
  EXPECT_NEAR(own["ranks"][0]["step_ms"]["value"].get<double>(), 51.8765, 1e-2);
  EXPECT_FALSE(own.contains("hook"));
  const Json back = simulated({halves, "--ranks", "2", "--hook-of", plain, "--algorithm", "ring"});
  EXPECT_NEAR(back["ranks"][0]["step_ms"]["value"].get<double>(), 22.1401, 1e-2);
  const auto text =
      lockstep({"simulate", plain, "--ranks", "32", "--hook-of", halves, "--out", "big.lockstep"});
  EXPECT_THAT(text.out, HasSubstr("of 2 ranks, with the hook fp16: medians over"));
  EXPECT_EQ(lockstep({"info", "big.lockstep"}).exitCode, 0);
}

TEST_F(SimulateTest, TakesAHookAsItWasVerified) {
  environment["XDG_CACHE_HOME"] = folder.string();
  keepVerifiedHalves(folder);
  const std::string plain = written();
  const std::vector<std::string> words{plain,  "--ranks",     "2,32", "--hook",
                                       "fp16", "--algorithm", "ring"};
  const Json told = simulated(words);
  EXPECT_EQ(told["hook"]["name"], "fp16");
  EXPECT_NEAR(told["ranks"][0]["step_ms"]["value"].get<double>(), 20.7229, 1e-2)
      << "as of a run with it";
  EXPECT_NEAR(told["ranks"][1]["step_ms"]["value"].get<double>(), 51.8765, 1e-2);
  EXPECT_THAT(told["hook"]["verified"].get<std::string>(),
              StartsWith("The hook fp16 is taken as it was verified on this machine, on 2 ranks"));
  EXPECT_THAT(lockstep({"simulate", plain, "--ranks", "32", "--hook", "fp16"}).out,
              HasSubstr("The hook fp16 is taken as it was verified on this machine"));
}

TEST_F(SimulateTest, AHookThatIsNotKnownIsRefused) {
  const std::string plain = written();
  environment["XDG_CACHE_HOME"] = folder.string();
  EXPECT_THAT(refusal({plain, "--ranks", "8", "--hook", "fp16"}),
              HasSubstr("the hook \"fp16\" was not verified on this machine"));
  EXPECT_THAT(refusal({plain, "--ranks", "8", "--hook-of", "nowhere.lockstep"}),
              HasSubstr("nowhere.lockstep"));
}

TEST_F(SimulateTest, PrintsATableOfRanksWithIntervals) {
  const auto told = lockstep({"simulate", written(), "--ranks", "4..64", "--algorithm", "ring"});
  ASSERT_EQ(told.exitCode, 0) << told.err;
  EXPECT_THAT(told.out,
              AllOf(StartsWith("Simulated from 8 steps of 2 ranks: medians over 64 steps each, "
                               "seed 0; in brackets, where nine of ten runs are expected. "),
                    HasSubstr("the same, simulated"), HasSubstr("extrapolated"),
                    HasSubstr("Efficiency falls below 80 % from about "),
                    HasSubstr("too few for a tail, so that no rank is simulated later")));
}

TEST_F(SimulateTest, WritesARunFileThatSaysThatItIsSimulated) {
  const std::string name = written();
  const auto told = lockstep({"simulate", name, "--ranks", "4,256", "--algorithm", "ring", "--show",
                              "5,7", "--seed", "3", "--out", "big.lockstep"});
  ASSERT_EQ(told.exitCode, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("big.lockstep: 256 ranks, of which "));
  EXPECT_THAT(told.out, HasSubstr(" are shown, as its ranks 0 to "));
  const auto info = lockstep({"info", "big.lockstep"});
  ASSERT_EQ(info.exitCode, 0) << info.err;
  EXPECT_THAT(info.out, StartsWith("run            sleeping on 256 ranks (simulated-"));
  EXPECT_THAT(info.out, HasSubstr("\nsimulated from run.lockstep\n               simulated, not "
                                  "measured: 256 ranks, from 8 steps of 2 of run "));
  EXPECT_THAT(info.out, HasSubstr("this run is simulated, and of its 256 ranks "));
  const Json report = Json::parse(lockstep({"info", "--json", "big.lockstep"}).out);
  EXPECT_EQ(report["kind"], "simulated");
  EXPECT_EQ(report["environment"]["simulated_ranks"], "256");
  EXPECT_EQ(report["world_size"], report["ranks"].size());
  EXPECT_EQ(report["ranks"][1]["environment"]["simulated_rank"], "5");
  EXPECT_EQ(report["steps"], 64);
  EXPECT_EQ(report["environment"]["simulated_seed"], "3");
  EXPECT_GE(report["ranks"].size(), 4u);
  EXPECT_LE(report["ranks"].size(), 5u);
  // All ranks are alike: what is told of all is what each shows.
  const Json all = simulated({name, "--ranks", "256", "--algorithm", "ring", "--seed", "3"});
  EXPECT_NEAR(report["ranks"][0]["figures"]["step_ms"].get<double>(),
              all["ranks"][0]["step_ms"]["value"].get<double>(), 0.01);
  EXPECT_NEAR(report["ranks"][0]["figures"]["exposed_ms"].get<double>(),
              all["ranks"][0]["exposed_ms"]["value"].get<double>(), 0.01);
}

TEST_F(SimulateTest, AFileThatIsThereAndRanksThatAreNotAreRefused) {
  const std::string name = written();
  EXPECT_EQ(lockstep({"simulate", name, "--ranks", "4", "--out", name}).exitCode, 3);
  EXPECT_THAT(refusal({name, "--ranks", "4", "--show", "4", "--out", "big.lockstep"}),
              HasSubstr("--show: there is no rank 4 among 4"));
}

TEST_F(SimulateTest, NothingIsForecastFromASimulatedRun) {
  ASSERT_EQ(lockstep({"simulate", written(), "--ranks", "2", "--out", "twin.lockstep"}).exitCode,
            0);
  EXPECT_THAT(refusal({"twin.lockstep", "--ranks", "8"}),
              HasSubstr("it is simulated, not measured: take the run that it was made from"));
  EXPECT_EQ(lockstep({"whatif", "twin.lockstep", "--bucket-cap-mb", "1"}).exitCode, 2);
}

// A job of PyTorch names no link: the cost is that of its own transfers.
TEST_F(SimulateTest, SimulatesAJobThatHasNoSettings) {
  run_.observed = true;
  run_.linkInSettings = false;
  const Json told = simulated({written(), "--ranks", "4", "--algorithm", "ring"});
  EXPECT_EQ(told["by_settings"], false);
  EXPECT_NEAR(told["latency_ms"].get<double>(), 0.2, 1e-3);
  EXPECT_GT(told["ranks"][0]["step_ms"]["value"], told["measured"]["step_ms"]);
}

TEST_F(SimulateTest, SaysWhyARunCannotTell) {
  run_.steps = 9;
  EXPECT_THAT(refusal({written("short.lockstep"), "--ranks", "8"}),
              HasSubstr("this run cannot tell, because only 7 of its steps"));
  run_.steps = 0;
  EXPECT_THAT(refusal({written("none.lockstep"), "--ranks", "8"}),
              HasSubstr("it has no buckets, or no step was recorded"));
}

TEST_F(SimulateTest, BadInputIsOneLine) {
  const std::string name = written();
  EXPECT_THAT(refusal({name, "--ranks", "1"}), HasSubstr("--ranks: \"1\" is no number of ranks"));
  EXPECT_THAT(refusal({name, "--ranks", "8..4"}), HasSubstr("\"8..4\" is no number of ranks"));
  EXPECT_THAT(refusal({name, "--ranks", "many"}), HasSubstr("\"many\" is no number of ranks"));
  EXPECT_THAT(refusal({name, "--ranks", "4", "--link", "token_ring"}),
              HasSubstr("--link: \"token_ring\" is neither a preset (ethernet_10g_8, "));
  EXPECT_THAT(refusal({name, "--ranks", "4", "--link", "5,0"}), HasSubstr("\"5,0\" is neither"));
  EXPECT_THAT(refusal({name, "--ranks", "4", "--algorithm", "butterfly"}),
              HasSubstr("--algorithm"));
  EXPECT_THAT(refusal({name, "--ranks", "4", "--steps", "1"}), HasSubstr("--steps"));
  EXPECT_THAT(refusal({"nowhere.lockstep", "--ranks", "4"}), HasSubstr("nowhere.lockstep"));
  EXPECT_THAT(refusal({name}), HasSubstr("--ranks"));
}

TEST(SimulateOptions, ReadsANumberAListAndDoublings) {
  EXPECT_EQ(ranksFrom("64").value(), std::vector<int>{64});
  EXPECT_EQ(ranksFrom("16,8,16").value(), (std::vector<int>{8, 16}));
  EXPECT_EQ(ranksFrom("6..40").value(), (std::vector<int>{6, 12, 24, 40}));
  EXPECT_FALSE(ranksFrom("8,,9").ok());
  EXPECT_FALSE(ranksFrom("100000").ok());
}

TEST(SimulateOptions, FewerRanksThanWereRecordedAreRefused) {
  EXPECT_TRUE(noneFewer({4, 8}, 4).ok());
  EXPECT_EQ(noneFewer({2, 8}, 4).error().message(),
            "--ranks: 2 is fewer than the 4 ranks that were recorded");
}

}  // namespace
}  // namespace lockstep::cli

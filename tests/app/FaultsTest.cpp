#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

/// What [[faults]] and [link] do to real ranks, through the real commands.
class FaultsTest : public CommandLineTest {
 protected:
  Ended run(const std::string& more, const std::vector<std::string>& sets = {}) {
    std::vector<std::string> arguments{"run", experiment(more), "--quiet", "--out", "r.lockstep"};
    for (const auto& set : sets) {
      arguments.insert(arguments.end(), {"--set", set});
    }
    return lockstep(arguments);
  }

  Json info() {
    const auto ended = lockstep({"info", "r.lockstep", "--json"});
    return ended.exitCode == 0 ? Json::parse(ended.out) : Json();
  }
};

TEST_F(FaultsTest, AKilledRankIsNamedWithItsSignalAndStep) {
  const auto ended = run("[[faults]]\nkind = \"kill\"\nrank = 1\nstep = 3\n");
  EXPECT_EQ(ended.exitCode, 5) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank 1"), HasSubstr("SIGKILL"))) << ended.err;
  EXPECT_EQ(info()["state"], "failed");
}

TEST_F(FaultsTest, AFrozenRankIsNamedWhenTheTimeLimitPasses) {
  const auto ended =
      run("[[faults]]\nkind = \"stop\"\nrank = 1\nstep = 3\n", {"processes.timeout_seconds=3"});
  EXPECT_EQ(ended.exitCode, 4) << ended.err;
  EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("in iteration 3"), HasSubstr("allreduce"), HasSubstr("bucket 0"),
                    HasSubstr("rank 1 was suspended (SIGSTOP) and was killed, in iteration 3")));
}

TEST_F(FaultsTest, AFlippedBitLeavesTheRanksWithDifferentParameters) {
  const auto ended =
      run("[[faults]]\nkind = \"flip_bit\"\nrank = 1\nstep = 3\nparameter = \"layers.0.weight\"\n"
          "bit = 20\n");
  ASSERT_EQ(ended.exitCode, 8) << ended.err;
  const Json ranks = info()["ranks"];
  EXPECT_NE(ranks[0]["parameter_hash"], ranks[1]["parameter_hash"]);
}

TEST_F(FaultsTest, ANanReachesEveryRank) {
  const auto ended =
      run("[[faults]]\nkind = \"nan\"\nrank = 1\nstep = 3\nparameter = \"layers.0.weight\"\n");
  ASSERT_EQ(ended.exitCode, 8) << ended.err;
  EXPECT_TRUE(info()["loss"].is_null()) << info().dump(2);
}

TEST_F(FaultsTest, UnevenInputsAreAnsweredInAJoin) {
  const auto ended = run("[[faults]]\nkind = \"uneven\"\nrank = 1\nsamples = 16\n",
                         {"ddp.join=true", "data.batch_size=8"});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const Json ranks = info()["ranks"];
  EXPECT_EQ(ranks[0]["parameter_hash"], ranks[1]["parameter_hash"]);

  // What the ranks say to each other at the end belongs to the iterations of the end.
  ASSERT_EQ(lockstep({"export", "r.lockstep", "--csv", "events", "events.csv"}).exitCode, 0);
  std::ifstream events(folder / "events.csv");
  double firstEnded = 0;
  double latest = 0;  // begin of a collective of iteration 0
  for (std::string line; std::getline(events, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) {
      cells.push_back(cell);
    }
    ASSERT_GT(cells.size(), 7u);
    const bool first = cells[7] == "0";
    if (first && cells[3] == "step") {
      firstEnded = std::max(firstEnded, std::stod(cells[5]) + std::stod(cells[6]));
    } else if (first && cells[3] == "collective") {
      latest = std::max(latest, std::stod(cells[5]));
    }
  }
  EXPECT_GT(latest, 0);
  EXPECT_LT(latest, firstEnded);
}

TEST_F(FaultsTest, AParameterThatTheModelLacksIsNamed) {
  const auto ended =
      run("[[faults]]\nkind = \"nan\"\nrank = 0\nstep = 0\nparameter = \"layers.0.wieght\"\n");
  EXPECT_EQ(ended.exitCode, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("faults.parameter: the model has no \"layers.0.wieght\""));
}

TEST_F(FaultsTest, ALinkTooFastForTheBackendIsRefusedWithBothFigures) {
  const auto ended = run("[link]\nbandwidth_gbps = 5000\n");
  EXPECT_EQ(ended.exitCode, 2) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("a link of 5e+03 Gbit/s is more than half of the "),
                               HasSubstr("link.simulate_anyway")));
}

TEST_F(FaultsTest, ASlowLinkIsWaitedForAtTheEndOfTheBackward) {
  const auto ended =
      run("[link]\nbandwidth_gbps = 1\nlatency_us = 10000\nsimulate_anyway = true\n");
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_GE(info()["ranks"][0]["figures"]["exposed_ms"].get<double>(), 19) << info().dump(2);  // two hops of 10 ms
}

}  // namespace
}  // namespace lockstep::cli

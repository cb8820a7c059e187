#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::json;

/// A layer of so many float32 whose backward sleeps so long.
struct SleepingLayer {
  int elements = 0;
  int backwardMs = 0;
};

/// Two ranks whose layers sleep, over a link that takes 10 ms a message: an allreduce of two ranks
/// is two, 20 ms, and the next begins when it is done.
class OverlapOnPaperTest : public CommandLineTest {
 protected:
  /// Trains `layers`, the last of which has its gradient first; returns the ranks' figures.
  Json figures(const std::vector<SleepingLayer>& layers, double bucketCapMb,
               const std::string& more = "") {
    Json shapes{{"layers", Json::array()}};
    for (const SleepingLayer& layer : layers) {
      shapes["layers"].push_back({{"name", fmt::format("l{}.w", shapes["layers"].size())},
                                  {"shape", {layer.elements}},
                                  {"dtype", "float32"},
                                  {"forward_us", 2000},
                                  {"backward_us", 1000 * layer.backwardMs}});
    }
    write("shapes.json", shapes.dump());
    write("paper.toml",
          fmt::format("name = \"paper\"\n[model]\nkind = \"shapes\"\nfile = \"shapes.json\"\n"
                      "[data]\nkind = \"synthetic\"\nsamples = 256\nbatch_size = 4\n"
                      "[processes]\nworld_size = 2\n[ddp]\nbucket_cap_mb = {}\n"
                      "[optimizer]\nkind = \"sgd\"\nlearning_rate = 0.01\n"
                      "[train]\nsteps = 20\nevaluate_at_end = false\n"
                      "[link]\nbandwidth_gbps = 100\nlatency_us = 10000\nsimulate_anyway = true\n"
                      "{}",
                      bucketCapMb, more));
    const auto ended = lockstep({"run", "paper.toml", "--quiet", "--out", "r.lockstep"});
    EXPECT_EQ(ended.exitCode, 0) << ended.err;
    Json all = Json::array();
    for (const Json& rank : Json::parse(lockstep({"info", "--json", "r.lockstep"}).out)["ranks"]) {
      all.push_back(rank["figures"]);
    }
    return all;
  }

  static void expect(const Json& rank, double overlapPercent, double exposedMs) {
    constexpr double kPoints = 2;
    EXPECT_GE(rank["overlap_most_percent"].get<double>(), overlapPercent - kPoints) << rank;
    EXPECT_LE(rank["overlap_least_percent"].get<double>(), overlapPercent + kPoints) << rank;
    EXPECT_NEAR(rank["exposed_ms"].get<double>(), exposedMs, 0.08 * exposedMs) << rank;
  }
};

constexpr int kMebi = 262'144;  // elements of 1 MiB: a bucket of its own under a cap of 0.5

// Ready at 40 ms, when nothing is left to compute.
TEST_F(OverlapOnPaperTest, OneBucketHidesNothing) {
  for (const Json& rank : figures({{256, 10}, {256, 10}, {256, 10}, {256, 10}}, 25)) {
    EXPECT_EQ(rank["overlap_percent"], 0) << rank;
    expect(rank, 0, 20);
  }
}

// Ready at 30 and 40 ms: in flight 30 .. 50 .. 70, computing until 40.
TEST_F(OverlapOnPaperTest, ALateBucketHidesWhatIsLeftOfTheBackward) {
  for (const Json& rank : figures({{kMebi, 10}, {kMebi, 30}}, 0.5)) {
    expect(rank, 25, 30);
  }
}

// Ready at 10 and 40 ms: in flight 10 .. 30, all of it hidden, and 40 .. 60.
TEST_F(OverlapOnPaperTest, ABucketThatIsReadyEarlyIsHiddenWhole) {
  for (const Json& rank : figures({{kMebi, 30}, {kMebi, 10}}, 0.5)) {
    expect(rank, 50, 20);
  }
}

// Rank 1 comes 15 ms later: rank 0 has 15 of waiting and 20 of transfer, rank 1 the transfer alone.
TEST_F(OverlapOnPaperTest, ALateRankIsWaitedForByTheOther) {
  const Json ranks = figures({{256, 10}, {256, 10}, {256, 10}, {256, 10}}, 25,
                             "[[faults]]\nkind = \"delay\"\nrank = 1\nmilliseconds = 15\n");
  expect(ranks[0], 0, 35);
  expect(ranks[1], 0, 20);
  EXPECT_EQ(ranks[1]["late"], true) << ranks;
  EXPECT_EQ(ranks[0]["late"], false) << ranks;
}

}  // namespace
}  // namespace lockstep::cli

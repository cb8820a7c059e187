#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/app/CommandLine.h"
#include "tests/bench/timeline/MadeRanks.h"

namespace lockstep::cli {
namespace {

using bench::PlantedRank;
using nlohmann::json;

/// A made run of many ranks, as `lockstep info` tells of it.
class ManyRanksTest : public CommandLineTest {
 protected:
  std::string made(const std::vector<PlantedRank>& planted) const {
    bench::MadeRanksOptions options;
    options.ranks = 96;
    options.steps = 40;
    options.planted = planted;
    EXPECT_TRUE(bench::writeMadeRanks(folder / "many.lockstep", options).ok());
    return "many.lockstep";
  }
};

TEST_F(ManyRanksTest, InfoNamesThePlantedOnesInItsFirstLines) {
  using Kind = PlantedRank::Kind;
  const std::string run = made({{Kind::kSlow, 70, 12},
                                {Kind::kLink, 51, 8},
                                {Kind::kPeriodic, 41, 24, 5},
                                {Kind::kSlowHost, 2, 4}});
  const Ended ended = lockstep({"info", run});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  std::istringstream lines(ended.out);
  std::string unlike;
  for (int number = 0; number < 20 && !unlike.starts_with("unlike"); ++number) {
    std::getline(lines, unlike);
  }
  EXPECT_THAT(unlike, testing::HasSubstr("rank 70 computes "));
  EXPECT_THAT(unlike, testing::HasSubstr("rank 51 transfers "));
  EXPECT_THAT(unlike, testing::HasSubstr("rank 41 computes "));
  EXPECT_THAT(unlike, testing::HasSubstr("in every 5th step"));
  EXPECT_THAT(unlike, testing::HasSubstr("host node2 (8 of its 8 ranks"));
  EXPECT_THAT(unlike, testing::HasSubstr("the other 85 of 96 ranks do not stand out"));

  const json report = json::parse(lockstep({"info", "--json", run}).out);
  EXPECT_EQ(report.at("likeness").at("unlike").size(), 4u);
  EXPECT_EQ(report.at("likeness").at("classes").at(0).at("count"), 85u);
}

TEST_F(ManyRanksTest, InfoPutsWhatIsAlikeIntoALineUnlessAllIsAskedFor) {
  const std::string run = made({{PlantedRank::Kind::kSlow, 70, 12}});
  const std::string text = lockstep({"info", run}).out;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50);
  EXPECT_THAT(text, testing::ContainsRegex("\nranks\n +ranks +count +state .*\n +0-95 +96 +"
                                           "finished "));
  EXPECT_THAT(text, testing::ContainsRegex("\n +0 +1 +node0 +- +0-7 +tsc +records the run\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("\n +1-11 +11 +node1 ... node11 +- +8-95 +tsc +.0.000 ms"));

  const std::string all = lockstep({"info", "--all", run}).out;
  EXPECT_THAT(all, testing::ContainsRegex("\n +95 +finished "));
  EXPECT_THAT(all, testing::ContainsRegex("\n +11 +node11 +- +88-95 "));
  EXPECT_EQ(json::parse(lockstep({"info", "--json", run}).out).at("ranks").size(), 96u);
}

TEST_F(ManyRanksTest, TheHostThatIsSlowIsOneFinding) {
  const json report = json::parse(
      lockstep({"diagnose", "--json", made({{PlantedRank::Kind::kSlowHost, 2, 6}})}).out);
  std::vector<std::string> late;
  for (const json& finding : report.at("findings")) {
    if (finding.at("rule") == "late_rank") {
      late.push_back(finding.at("sentence"));
    }
  }
  ASSERT_EQ(late.size(), 1u);
  EXPECT_THAT(late.front(), testing::StartsWith("Host node2: ranks "));
}

TEST_F(ManyRanksTest, InfoAccusesNobodyOfAHealthyRun) {
  const Ended ended = lockstep({"info", made({})});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::HasSubstr("none of 96 ranks stands out beyond chance\n"));
}

}  // namespace
}  // namespace lockstep::cli

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/ComparedRun.h"
#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"
#include "tests/app/SleepingRun.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Two ranks, three steps, each: the one of 1.1 has a fault and a shaped link.
class CompareTest : public CommandLineTest {
 protected:
  void expectOneLine(const Ended& ended, const std::string& text) {
    EXPECT_EQ(ended.exitCode, 2) << ended.err;
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: "), HasSubstr(text)));
  }
};

TEST_F(CompareTest, SaysWhoIsComparedWhatDiffersAndWhy) {
  const auto ended = lockstep({"compare", goldenRun("1.0"), goldenRun("1.1")});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(StartsWith("A  "), HasSubstr("\nB  "), HasSubstr("iterations measured"),
                    HasSubstr("the experiments are the same"), HasSubstr("step time [ms]"),
                    HasSubstr("same experiment"),
                    HasSubstr("\nB against A (means over ranks and iterations)\n"),
                    HasSubstr("\nwhy (means a step and rank, which add up)\n"),
                    HasSubstr("B's mean step takes")));
}

TEST_F(CompareTest, ListsTheKeysThatDiffer) {
  SleepingRun run;
  run.writeTo(folder / "a.lockstep");
  run.ddp.bucketCapMb = 0.5;
  run.writeTo(folder / "b.lockstep");
  const auto ended = lockstep({"compare", "a.lockstep", "b.lockstep"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("\nkeys that differ\n"), HasSubstr("ddp.bucket_cap_mb")));
}

TEST_F(CompareTest, CountsTheReasonsThatItDoesNotList) {
  analysis::Comparison comparison;
  comparison.runs.resize(2);
  analysis::Why& why = comparison.why.emplace_back();
  for (int i = 0; i < 8; ++i) {
    why.reasons.emplace_back().sentence = "reason " + std::to_string(i);
  }
  const std::vector<ComparedRun> runs(2);
  EXPECT_THAT(comparisonText(comparison, runs), EndsWith("  reason 7\n"));
  why.reasons.emplace_back();
  EXPECT_THAT(comparisonText(comparison, runs),
              EndsWith("\n  1 more with less effect: see --json\n"));
}

TEST_F(CompareTest, SaysWhatIsNotComparedOfAJobOfPyTorch) {
  analysis::Comparison comparison;
  comparison.runs.resize(2);
  comparison.why.emplace_back();
  comparison.keysNote = "B is a job of PyTorch: so and so.";
  EXPECT_THAT(
      comparisonText(comparison, std::vector<ComparedRun>(2)),
      HasSubstr("\nno setting that all these runs tell differs\nB is a job of PyTorch: so and "
                "so.\n"));
}

TEST_F(CompareTest, JsonHoldsTheSameForAScript) {
  const auto ended =
      lockstep({"compare", "--json", goldenRun("1.0"), goldenRun("1.1"), goldenRun("1.0")});
  ASSERT_EQ(ended.exitCode, 0) << ended.err;
  const auto all = nlohmann::json::parse(ended.out);
  ASSERT_EQ(all.at("runs").size(), 3u);
  EXPECT_EQ(all.at("runs")[2].at("letter"), "C");
  const auto& step = all.at("metrics")[0];
  EXPECT_EQ(step.at("metric"), "step_ms");
  EXPECT_EQ(step.at("values").size(), 3u);
  EXPECT_EQ(step.at("values")[0], step.at("values")[2]);
  EXPECT_EQ(step.at("deltas")[1].at("difference"), 0.0);
  double sum = 0;
  for (const auto& reason : all.at("why")[0].at("reasons")) {
    sum += reason.at("delta_ms").get<double>();
  }
  EXPECT_NEAR(sum, all.at("why")[0].at("mean_step_delta_ms").get<double>(), 0.01);
}

TEST_F(CompareTest, BadInputIsOneLine) {
  expectOneLine(lockstep({"compare", goldenRun("1.0")}), "RUN");
  expectOneLine(lockstep({"compare", goldenRun("1.0"), "nowhere.lockstep"}), "nowhere.lockstep");
  expectOneLine(lockstep({"compare", goldenRun("1.0"), write("text.lockstep", "no run")}),
                "text.lockstep");
}

TEST_F(CompareTest, HelpSaysHowSignificanceIsFound) {
  const auto ended = lockstep({"compare", "--help"});
  EXPECT_EQ(ended.exitCode, 0);
  EXPECT_THAT(ended.out, HasSubstr("block\nbootstrap"));
}

}  // namespace
}  // namespace lockstep::cli

// `lockstep follow`: what a terminal shows of a run.

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/cli/FollowText.h"
#include "tests/app/CommandLine.h"
#include "tests/app/GoldenRun.h"
#include "tests/app/SleepingRun.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::cli {
namespace {

using analysis::BucketStage;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

BucketProgress bucketAt(BucketStage stage, std::size_t ready = 4) {
  return {.bucket = 0, .bytes = 1 << 20, .parameters = 4, .ready = ready, .stage = stage};
}

/// A run of so many ranks, each the last to come a few times, and buckets of which the first half
/// is done.
FollowedState stateOf(int ranks, std::size_t buckets) {
  FollowedState state;
  state.info.name = "mlp";
  state.info.worldSize = ranks;
  state.info.state = trace::RunState::kRunning;
  state.progress.recorder.plannedSteps = 100;
  state.progress.recorder.steps = {25};
  state.progress.recorder.loss = 0.5;
  for (int rank = 0; rank < ranks; ++rank) {
    analysis::RankAnalysis& figures = state.analysis.ranks.emplace_back();
    figures.rank = rank;
    figures.stepMs = 12.5;
    figures.waitingCausedMs = rank;
  }
  state.bucketStep = 24;
  for (std::size_t b = 0; b < buckets; ++b) {
    state.buckets.push_back(bucketAt(2 * b < buckets ? BucketStage::kDone : BucketStage::kFilling));
    state.buckets.back().bucket = static_cast<std::uint16_t>(b);
  }
  return state;
}

TEST(BucketBarTest, FillsWithGradientsAndSaysWhenTheyTravel) {
  EXPECT_EQ(bucketBar(bucketAt(BucketStage::kEmpty, 0), 8), "[........]");
  EXPECT_EQ(bucketBar(bucketAt(BucketStage::kFilling, 3), 8), "[######..]");
  EXPECT_EQ(bucketBar(bucketAt(BucketStage::kReady), 8), "[########]");
  EXPECT_EQ(bucketBar(bucketAt(BucketStage::kInFlight), 8), "[========]");
  EXPECT_EQ(bucketBar(bucketAt(BucketStage::kDone), 8), "[########]");
}

TEST(FollowLinesTest, BeginWithTheRunAndHowFarItIs) {
  const auto lines = followLines(stateOf(2, 3), {});
  ASSERT_GT(lines.size(), 2u);
  EXPECT_EQ(lines[0], "mlp  2 ranks  running");
  EXPECT_EQ(lines[1], "[######..................] step 25/100  loss 0.5000");
  EXPECT_THAT(lines, Contains("buckets of rank 0, step 24"));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr(" 1 MiB"), EndsWith(" done"))));
}

TEST(FollowLinesTest, NameWhatCostsMostOrThatNothingDoes) {
  FollowedState state = stateOf(2, 1);
  state.diagnosis.nothing = "nothing stands out";
  EXPECT_THAT(followLines(state, {}), Contains("nothing stands out"));
  diagnosis::Finding finding;
  finding.title = "rank 1 is late";
  state.diagnosis.findings = {finding};
  EXPECT_THAT(followLines(state, {}), AllOf(Contains(StartsWith("1. rank 1 is late")),
                                            Not(Contains("nothing stands out"))));
}

TEST(FollowLinesTest, ShowOfManyRanksThoseThatOthersWaitedForMost) {
  const auto lines = followLines(stateOf(1000, 40), {});
  EXPECT_THAT(lines, SizeIs(23));
  EXPECT_THAT(lines, Contains(StartsWith("   999")));
  EXPECT_THAT(lines, Contains(HasSubstr("ranks for which the others waited less")));
  EXPECT_THAT(lines, Contains(HasSubstr("filling")));  // rather than what is done
  EXPECT_THAT(lines, Not(Contains(EndsWith(" done"))));
}

TEST(FollowLinesTest, FitTheScreen) {
  FollowedState state = stateOf(8, 12);
  state.problems = {{.severity = "warning", .text = std::string(300, 'x') + "µ"}};
  const auto lines = followLines(state, {.columns = 30, .rows = 9});
  EXPECT_THAT(lines, AllOf(SizeIs(testing::Le(8u)), Each(SizeIs(testing::Le(29u)))));
}

TEST(FollowedRunTest, SaysOfARunWhatItsAnalysisAndItsLastStepSay) {
  const support::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "followed.lockstep";
  SleepingRun run;
  run.lateMs = 5;
  run.writeTo(file);
  auto opened = FollowedRun::open(file);
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  FollowedRun followed = std::move(opened).value();
  while (true) {
    const auto more = followed.refresh();
    ASSERT_TRUE(more.ok()) << more.error().message();
    if (!more.value()) {
      break;
    }
  }
  const FollowedState& state = followed.state();
  EXPECT_THAT(state.progress.recorder.steps, ElementsAre(10u));
  EXPECT_THAT(state.analysis.ranks, SizeIs(2));
  EXPECT_EQ(state.bucketStep, 9u);
  ASSERT_FALSE(state.buckets.empty());
  for (const BucketProgress& bucket : state.buckets) {
    EXPECT_EQ(bucket.stage, BucketStage::kDone);
    EXPECT_EQ(bucket.ready, bucket.parameters);
  }
}

class FollowTest : public CommandLineTest {};

TEST_F(FollowTest, OfAFinishedRunIsItsSummary) {
  const auto ended = lockstep({"follow", goldenRun("1.0")});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\nrun file "));
}

TEST_F(FollowTest, GoesOnUntilTheRunEnds) {
  useFakeRanks("steps=40; 0: hang@20");
  RunningCommand run(folder, {"run", experiment(), "--quiet", "--out", "r.lockstep"}, environment);
  while (!exists("r.lockstep")) {
    ASSERT_FALSE(run.hasEnded()) << run.wait().err;
  }
  RunningCommand follow(folder, {"follow", "r.lockstep"}, environment);
  run.send(SIGINT);
  const Ended ended = follow.wait();
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("stopped: "));
  EXPECT_EQ(run.wait().exitCode, 130);
}

TEST_F(FollowTest, DrawsOnATerminalAndLeavesTheSummary) {
  const std::string program = programBeside("lockstep").string();
  // script(1) gives it a terminal.
  const std::string file = (folder / "typescript").string();
  const int status = std::system(("script -qec '\"" + program + "\" follow \"" + goldenRun("1.0") +
                                  "\"' \"" + file + "\" >/dev/null 2>&1 </dev/null")
                                     .c_str());
  ASSERT_EQ(status, 0);
  const std::string shown = support::readFile(file);
  EXPECT_THAT(shown, AllOf(HasSubstr("\x1b[J"), HasSubstr("buckets of rank "),
                           HasSubstr("run file ")));
}

TEST_F(FollowTest, SaysWhatIsNoRun) {
  const auto ended = lockstep({"follow", "none.lockstep"});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_EQ(lineCount(ended.err), 1);
  EXPECT_THAT(ended.err, HasSubstr("none.lockstep"));
}

}  // namespace
}  // namespace lockstep::cli

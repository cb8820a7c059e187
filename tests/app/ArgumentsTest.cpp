#include <gmock/gmock.h>

#include "tests/app/CommandLine.h"

namespace lockstep::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::StartsWith;

class ArgumentsTest : public CommandLineTest {
 protected:
  /// Expects one line of complaint that holds `text`.
  void expectOneLine(const Ended& ended, int exitCode, const std::string& text) {
    EXPECT_EQ(ended.exitCode, exitCode) << ended.err;
    EXPECT_EQ(lineCount(ended.err), 1) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("lockstep: "), HasSubstr(text)));
  }
};

TEST_F(ArgumentsTest, SaysItsVersion) {
  const auto ended = lockstep({"--version"});
  EXPECT_EQ(ended.exitCode, 0);
  EXPECT_THAT(ended.out, MatchesRegex("lockstep [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(ArgumentsTest, RefusesAnUnknownCommandInOneLine) {
  expectOneLine(lockstep({"dance"}), 2, "no command \"dance\"");
  expectOneLine(lockstep({}), 2, "a command is needed");
  expectOneLine(lockstep({"info", "a", "b"}), 2, "b");
  expectOneLine(lockstep({"info"}), 2, "RUN");
  expectOneLine(lockstep({"run", experiment(), "--no-such"}), 2, "--no-such");
}

TEST_F(ArgumentsTest, RecordNeedsACommandBehindItsOwnWords) {
  expectOneLine(lockstep({"record"}), 2,
                "needs a command behind --, as in lockstep record -- python train.py");
  expectOneLine(lockstep({"record", "--attach", "never", "--", "true"}), 2, "--attach");
}

TEST_F(ArgumentsTest, CaptureNeedsARunAndAFewSteps) {
  expectOneLine(lockstep({"capture"}), 2, "RUN");
  expectOneLine(lockstep({"capture", "run.lockstep", "--steps", "0"}), 2, "--steps");
  expectOneLine(lockstep({"capture", "run.lockstep", "--steps", "1001"}), 2, "--steps");
  expectOneLine(lockstep({"capture", "none.lockstep"}), 2, "none.lockstep");
}

TEST_F(ArgumentsTest, TheGlossarySaysWhatATermMeansWithFormulaAndUnit) {
  const auto ended = lockstep({"glossary", "Exposed", "time"});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(StartsWith("exposed time\n  Communication was in flight"),
                    HasSubstr("  Formula      in flight - overlap = no core + waiting"),
                    HasSubstr("  Unit         ms a step\n"), HasSubstr("  See also     overlap")));
  EXPECT_THAT(lockstep({"glossary", "straggler"}).out, StartsWith("late rank\n"));
}

TEST_F(ArgumentsTest, TheGlossaryListsItsTermsAndKnowsWhichIsMeant) {
  const auto all = lockstep({"glossary"});
  EXPECT_EQ(all.exitCode, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("\noverlap "), HasSubstr("\nworld lane ")));
  expectOneLine(lockstep({"glossary", "overlep"}), 2,
                "the glossary has no \"overlep\"; did you mean overlap?; lockstep glossary lists "
                "all terms");
}

TEST_F(ArgumentsTest, ListsExperimentsWithWhatTheyShow) {
  experiment();
  const auto ended = lockstep({"list", "."});
  EXPECT_EQ(ended.exitCode, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("small.toml"), HasSubstr("A small run.")));
}

TEST_F(ArgumentsTest, ListsTheGoodExperimentsBesideABrokenOne) {
  experiment();
  write("broken.toml", "[ddp]\nbucket_cap = 1\n");
  const auto ended = lockstep({"list", "."});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_THAT(ended.out, HasSubstr("A small run."));
  EXPECT_THAT(ended.err, HasSubstr("broken.toml:2:1"));
}

TEST_F(ArgumentsTest, ListRefusesAFolderThatIsNotThere) {
  expectOneLine(lockstep({"list", "nowhere"}), 2, "nowhere");
}

TEST_F(ArgumentsTest, ValidateReportsEveryMistakeOfEveryFile) {
  const auto good = experiment();
  const auto bad = write("bad.toml", "[ddp]\nbucket_cap = 1\n[processes]\nworld_size = 1025\n");
  const auto ended = lockstep({"validate", good, bad});
  EXPECT_EQ(ended.exitCode, 2);
  EXPECT_EQ(ended.out, "small.toml: ok\n");
  EXPECT_THAT(ended.err, AllOf(HasSubstr("lockstep: bad.toml:2:1: ddp.bucket_cap"),
                               HasSubstr("ddp.bucket_cap_mb"), HasSubstr("lockstep: bad.toml:4:"),
                               HasSubstr("processes.world_size")));
}

TEST_F(ArgumentsTest, ValidateNamesAFileThatIsNotThere) {
  expectOneLine(lockstep({"validate", "nowhere.toml"}), 2, "nowhere.toml");
}

TEST_F(ArgumentsTest, RunHelpDescribesTheKeysOfAnExperiment) {
  const auto ended = lockstep({"run", "--help"});
  EXPECT_EQ(ended.exitCode, 0);
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("--set"), HasSubstr("bucket_cap_mb"), HasSubstr("world_size")));
}

TEST_F(ArgumentsTest, HelpListsTheExitCodes) {
  const auto ended = lockstep({"--help"});
  EXPECT_EQ(ended.exitCode, 0);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Exit codes:\n  0    done\n"),
                               HasSubstr("  8    the run went to its end but diverged"),
                               HasSubstr("  130  interrupted")));
}

class WorldSizeTest : public ArgumentsTest, public testing::WithParamInterface<const char*> {};

TEST_P(WorldSizeTest, IsRefusedInOneLineAndNothingIsStarted) {
  useFakeRanks("");
  const auto overridden = lockstep({"run", experiment(), "--out", "r.lockstep", "--set",
                                    std::string("processes.world_size=") + GetParam()});
  expectOneLine(overridden, 2, "processes.world_size");
  EXPECT_FALSE(exists("r.lockstep"));

  const auto file = write(
      "w.toml", std::string("[processes]\nworld_size = ") + GetParam() + "\n[train]\nsteps = 1\n");
  const auto inFile = lockstep({"run", file, "--out", "r.lockstep"});
  expectOneLine(inFile, 2, "w.toml:2:");
  EXPECT_FALSE(exists("r.lockstep"));
}

INSTANTIATE_TEST_SUITE_P(Wrong, WorldSizeTest, testing::Values("0", "1025", "\"two\""));

TEST_F(ArgumentsTest, RefusesASetWithoutAValue) {
  expectOneLine(lockstep({"run", experiment(), "--set", "nonsense"}), 2, "key=value");
}

TEST_F(ArgumentsTest, NamesAnUnknownKeyOfSetAndTheNearest) {
  expectOneLine(lockstep({"run", experiment(), "--set", "ddp.bucket_cap=1"}), 2,
                "ddp.bucket_cap_mb");
}

TEST_F(ArgumentsTest, InfoStopAndCopyNameAFileThatIsNoRun) {
  const auto text = write("text.lockstep", "this is no run\n");
  for (const char* command : {"info", "stop"}) {
    expectOneLine(lockstep({command, text}), 2, text);
    expectOneLine(lockstep({command, "nowhere.lockstep"}), 2, "nowhere.lockstep");
  }
  expectOneLine(lockstep({"copy", "nowhere.lockstep", "to.lockstep"}), 2, "nowhere.lockstep");
  EXPECT_FALSE(exists("to.lockstep"));
}

}  // namespace
}  // namespace lockstep::cli

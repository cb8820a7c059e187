// Jobs that are only recorded: processes that attach, and what becomes of them.

#include "engine/launch/Job.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "engine/base/Clock.h"
#include "engine/launch/ControlSocket.h"
#include "tests/engine/launch/JobFixture.h"

namespace lockstep::launch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using trace::RunState;

class JobTest : public JobFixture {
 protected:
  bool asked_ = false;
  std::thread asker_;
  std::string refusal_;
};

TEST_F(JobTest, RecordsTheProcessesThatAttach) {
  const auto outcome = record({"3", "20"});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().exitCode, 0) << errors;
  EXPECT_EQ(outcome.value().state, RunState::kFinished);
  EXPECT_THAT(outcome.value().failure, IsEmpty());
  EXPECT_THAT(outcome.value().warning, IsEmpty());
  EXPECT_THAT(output, HasSubstr("steps of rank 2: 0..19"));

  const auto run = summary();
  EXPECT_EQ(run.info.kind, trace::RunKind::kObserved);
  EXPECT_EQ(run.info.environment.at("folder"), std::filesystem::current_path());
  EXPECT_EQ(run.info.name, "fake");
  EXPECT_THAT(run.info.command, AllOf(StartsWith("python3 /"), EndsWith("fake_job.py 3 20")));
  EXPECT_THAT(run.info.experimentToml, IsEmpty());
  EXPECT_EQ(run.info.worldSize, 3);
  EXPECT_EQ(run.lastStep, 19u);
  ASSERT_THAT(run.ranks, SizeIs(3));
  for (const auto& rank : run.ranks) {
    EXPECT_EQ(rank.state, "finished");
    EXPECT_EQ(rank.environment.at("torch"), "none");
  }
  EXPECT_THAT(logOf(job.runFile, -1), Contains("steps of rank 0: 0..19"));
}

TEST_F(JobTest, KeepsTheExitCodeAndNamesTheRankThatThrew) {
  const auto outcome = record({"2", "5", "1:throw"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, 1);
  EXPECT_EQ(outcome.value().state, RunState::kFailed);
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 failed in iteration 4"), EndsWith(": ValueError: boom")));
  EXPECT_EQ(summary().ranks[0].state, "finished");
  EXPECT_EQ(summary().ranks[1].state, "failed");
}

TEST_F(JobTest, NamesTheRankThatWasKilled) {
  const auto outcome = record({"2", "5", "1:kill"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, 9);
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 was lost, last seen in iteration 4"),
                    HasSubstr("ended without a word")));
}

TEST_F(JobTest, NamesTheRankThatWasSuspendedBeforeThoseThatWaitedForIt) {
  const auto outcome = record({"3", "5", "0:suspend", "1:wait", "2:wait"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 0 was suspended (SIGSTOP) and was killed, in iteration 4"),
                    HasSubstr("; rank 1 failed in iteration 5, in forward"),
                    HasSubstr(": RuntimeError: Timed out waiting")));
  EXPECT_EQ(summary().ranks[0].state, "killed");
  EXPECT_EQ(summary().ranks[0].signal, SIGKILL);
}

TEST_F(JobTest, NamesTheRankThatDidNotComeBeforeThoseThatWaitedForIt) {
  const auto outcome = record({"3", "5", "0:hang", "1:wait", "2:wait"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(
      outcome.value().failure,
      AllOf(StartsWith("rank 0 did not come to what was waited for, in iteration 5, in data for "),
            HasSubstr("; rank 1 failed in iteration 5, in forward"),
            EndsWith("; rank 0 did not end by itself and was killed")));
}

TEST_F(JobTest, NamesAllThatDidNotCome) {
  const auto outcome = record({"3", "5", "0:hang", "1:hang", "2:wait"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome.value().failure,
              StartsWith("ranks 0, 1 did not come to what was waited for; rank 2 failed in "));
}

TEST_F(JobTest, AccusesNobodyWhoHadComeAsFar) {
  const auto outcome = record({"3", "5", "0:forward", "1:wait", "2:wait"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 failed in iteration 5, in forward"),
                    EndsWith("Timed out waiting 1000ms for recv operation to complete")));
}

TEST_F(JobTest, TakesAProcessThatLeavesWithoutPythonsEndForFinishedWhereTheCommandSucceeds) {
  const auto outcome = record({"2", "5", "1:exit"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, 0);
  EXPECT_EQ(summary().ranks[1].state, "finished");
}

TEST_F(JobTest, GoesOnInTheSameRunWhereARankIsStartedAgain) {
  const auto outcome = record({"1", "5", "0:again"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(output, AllOf(HasSubstr("0..4"), HasSubstr("5..9")));
  EXPECT_EQ(summary().lastStep, 9u);
  EXPECT_THAT(
      logOf(job.runFile, 0),
      Contains(AllOf(HasSubstr("rank 0 was started again, as process "), EndsWith(", at step 5"))));
}

TEST_F(JobTest, SaysThatAProcessOutlivesTheCommand) {
  const auto outcome = record({"1", "5", "0:outlive"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, 0);
  const auto pid = static_cast<pid_t>(summary().ranks[0].pid);
  EXPECT_THAT(logOf(job.runFile, -1),
              Contains("rank 0's process " + std::to_string(pid) + " outlives the command"));
  kill(pid, SIGKILL);
}

TEST_F(JobTest, BoundsWhatTheCommandWritesAndCountsWhatWasLeftOut) {
  ASSERT_TRUE(record({"1", "5", "0:flood"}).ok());
  EXPECT_THAT(problems(), ElementsAre(AllOf(StartsWith("the command's output: "),
                                            HasSubstr(" after the first 4 MiB were left out"))));
}

TEST_F(JobTest, RefusesARankOfAnotherWorldAndSaysSo) {
  const auto outcome = record({"2", "5", "1:world"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, 0);
  EXPECT_THAT(output, HasSubstr("rank 1 refused: process"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("is rank 1 of 3 ranks, and this run began with 2"),
                                      "rank 1 never attached: nothing of it is recorded"));
}

TEST_F(JobTest, RefusesASecondProcessOfOneRank) {
  job.wrote = [this](bool, std::string_view bytes) {
    output += bytes;
    // Either may come first.
    if (output.find(" refused: ") != std::string::npos && !asked_) {
      asked_ = true;
      kill(getpid(), SIGTERM);
    }
  };
  const auto outcome = record({"2", "5", "0:stay", "1:twice"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(output, HasSubstr(" says that it is rank 0, which process "));
  EXPECT_THAT(problems(), Contains(EndsWith(" is already: it is not recorded")));
}

TEST_F(JobTest, TakesNoSettings) {
  job.wrote = [this](bool, std::string_view bytes) {
    output += bytes;
    if (output.find("steps of rank 0") == std::string::npos || asked_) {
      return;
    }
    asked_ = true;
    // From another thread: this one answers.
    asker_ = std::thread([this] {
      while (trace::readRunSummary(job.runFile).value().info.controlSocket.empty()) {
        std::this_thread::yield();  // the recorder writes it with its first rows
      }
      const ControlCommand set{ControlCommand::Kind::kSet, true, {"hook.density", "0.5"}};
      const auto answer = sendControl(job.runFile, set);
      refusal_ = answer.ok() ? "" : answer.error().message();
      EXPECT_TRUE(sendControl(job.runFile, {ControlCommand::Kind::kTrace, true, {}, 1}).ok());
      kill(getpid(), SIGTERM);
    });
  };
  ASSERT_TRUE(record({"1", "5", "0:stay"}).ok());
  asker_.join();
  EXPECT_THAT(refusal_, HasSubstr("this run is observed: its settings are its own program's"));
  EXPECT_THAT(logOf(job.runFile, -1), AllOf(Contains("capture: the next iteration of every rank"),
                                            Contains("stop: asked for by SIGTERM")));
}

TEST_F(JobTest, LeavesNoRunFileWhereNothingAttached) {
  job.command = {"sh", "-c", "echo out; echo err >&2; exit 7"};
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, 7);
  EXPECT_EQ(outcome.value().warning,
            "nothing was recorded, since no process of the command attached: watch its model "
            "(import lockstep; lockstep.watch(ddp_model, optimizer)), or, if that was not given, "
            "record with --attach auto");
  EXPECT_EQ(outcome.value().runFile, "");
  EXPECT_EQ(output, "out\n");
  EXPECT_EQ(errors, "err\n");
  EXPECT_FALSE(std::filesystem::exists(job.runFile));
}

TEST_F(JobTest, RefusesACommandThatIsNotThereAndLeavesNothing) {
  job.command = {"no-such-program-anywhere"};
  const auto outcome = record();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(outcome.error().message(), HasSubstr("no-such-program-anywhere"));
  EXPECT_FALSE(std::filesystem::exists(job.runFile));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "control"));
}

TEST_F(JobTest, RefusesAnExistingRunFileBeforeAnythingIsStarted) {
  std::ofstream(options.runFile) << "mine";
  job.command = {"touch", (folder / "started").string()};
  ASSERT_FALSE(record().ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
}

TEST_F(JobTest, SaysHowASignalEndedTheCommand) {
  job.command = {"sh", "-c", "kill -TERM $$"};
  const auto outcome = record();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, 128 + SIGTERM);
  EXPECT_EQ(outcome.value().failure, "sh was ended by SIGTERM");
}

TEST_F(JobTest, StopsTheCommandOnASignal) {
  job.wrote = [this](bool, std::string_view bytes) {
    output += bytes;
    if (output.find("steps of rank 0") != std::string::npos) {
      output.clear();
      kill(getpid(), SIGTERM);  // comes by the queue of signals
    }
  };
  const auto outcome = record({"1", "5", "0:stay"});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome.value().stopped);
  EXPECT_EQ(outcome.value().state, RunState::kStopped);
  EXPECT_EQ(summary().info.state, RunState::kStopped);
}

}  // namespace
}  // namespace lockstep::launch

#include "engine/launch/Supervisor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "engine/store/TCPStore.h"
#include "tests/engine/launch/LaunchFixture.h"

namespace lockstep::launch {
namespace {

using base::ExitCode;
using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;
using testing::StartsWith;
using trace::RunState;
using Milliseconds = std::chrono::milliseconds;

class SupervisorTest : public LaunchFixture {};

TEST_F(SupervisorTest, RecordsARunThatFinishes) {
  const auto outcome = launch(3, "steps=20");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().state, RunState::kFinished);
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kOk);
  EXPECT_THAT(outcome.value().failure, IsEmpty());
  EXPECT_THAT(outcome.value().warning, IsEmpty());

  const auto run = summary();
  EXPECT_EQ(run.info.state, RunState::kFinished);
  EXPECT_EQ(run.info.exitCode, 0);
  EXPECT_EQ(run.info.worldSize, 3);
  EXPECT_EQ(run.info.experimentToml, options.experimentToml);
  EXPECT_THAT(run.info.controlSocket, IsEmpty());
  EXPECT_FALSE(run.info.finishedAt.empty());
  ASSERT_THAT(run.ranks, SizeIs(3));
  for (const auto& rank : run.ranks) {
    EXPECT_EQ(rank.state, "finished");
    EXPECT_EQ(rank.exitCode, 0);
    EXPECT_EQ(rank.wireBytes, 20'000u);
    EXPECT_EQ(rank.wireMessages, 40u);
    EXPECT_EQ(rank.parameterHash, "00000000deadbeef");
  }
}

TEST_F(SupervisorTest, TakesCountersAsTheExperimentSays) {
  options.experiment.capture.countersHz = 0;
  ASSERT_TRUE(launch(2, "steps=20").ok());
  EXPECT_EQ(metrics("ring_fill_percent"), 0);
}

TEST_F(SupervisorTest, TakesCountersOfEachRankUnlessToldOtherwise) {
  ASSERT_TRUE(launch(2, "steps=20").ok());
  EXPECT_GE(metrics("ring_fill_percent"), 2) << "of each rank with the last pass";
}

TEST_F(SupervisorTest, GivesARankItsPlaceItsExperimentAndNoOtherDescriptors) {
  // One that the supervisor inherited without close-on-exec must not reach a rank.
  const int stray = open("/dev/null", O_RDONLY);
  ASSERT_GE(stray, 0);
  ASSERT_TRUE(launch(2, "1: print@startup").ok());
  close(stray);
  const auto log = logOf(options.runFile, 1);
  EXPECT_THAT(log, IsSupersetOf(std::vector<std::string>{
                       "RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2",
                       "GROUP_RANK=0", "MASTER_ADDR=127.0.0.1", "TORCHELASTIC_USE_AGENT_STORE=True",
                       "TORCHELASTIC_RUN_ID=" + summary().info.runId, "OMP_NUM_THREADS=1",
                       "experiment: name = \"fake\"", "descriptors: 0 1 2 3 4"}));
}

/// A port of the loopback that nobody has now.
std::uint16_t unusedPort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(probe);
  return ntohs(address.sin_port);
}

TEST_F(SupervisorTest, ServesItsStoreToItsRanksAlone) {
  store::TCPStoreOptions stranger;
  stranger.port = unusedPort();
  stranger.timeout = Milliseconds(200);
  options.experiment.processes.masterPort = stranger.port;
  std::string refusal;
  const auto outcome = launch(2, "0: print@startup; 1: hang@2", [&](const LaunchProgress&) {
    if (refusal.empty()) {
      try {
        const store::TCPStore store("127.0.0.1", stranger);
        refusal = "none";
      } catch (const store::StoreError& error) {
        refusal = error.what();
      }
      kill(getpid(), SIGTERM);  // the run has shown what it had to
    }
  });
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_THAT(refusal, HasSubstr("this process one of its run's ranks"));
  EXPECT_THAT(logOf(options.runFile, 0),
              testing::Contains(testing::ContainsRegex("^LOCKSTEP_STORE_TOKEN=[0-9a-f]{32}$")));
}

TEST_F(SupervisorTest, KeepsWhatRanksWriteAndTheTailOfTheirStderr) {
  ASSERT_TRUE(launch(2, "0: print@2").ok());
  EXPECT_THAT(logOf(options.runFile, 0),
              IsSupersetOf({"a line on stderr", "and one without an end"}));
  EXPECT_EQ(summary().ranks[0].stderrTail, "a line on stderr\nand one without an end");
  EXPECT_THAT(summary().ranks[1].stderrTail, IsEmpty());
}

TEST_F(SupervisorTest, BoundsWhatARankWritesAndCountsWhatWasLeftOut) {
  ASSERT_TRUE(launch(2, "1: flood=100000@2").ok());  // 10 MB
  const auto log = logOf(options.runFile, 1);
  const std::size_t kept = (std::size_t{4} << 20) / 100;
  ASSERT_EQ(log.size(), kept + 2);
  EXPECT_EQ(log[kept - 1], fmt::format("{:099}", kept - 1));
  EXPECT_EQ(log[kept], "(from here on left out: of a process 4 MiB are kept)");
  const std::string count = "58,057 lines (5.54 MiB) after the first 4 MiB were left out";
  EXPECT_EQ(log.back(), "(" + count + ")");
  EXPECT_THAT(summary().ranks[1].stderrTail, HasSubstr(fmt::format("{:099}", 99'999)));
  auto reader = std::move(trace::RunFileReader::open(options.runFile)).value();
  const auto update = reader->poll();
  ASSERT_THAT(update.value().problems, SizeIs(1));
  EXPECT_EQ(update.value().problems[0].text, "rank 1's output: " + count);
  EXPECT_EQ(update.value().problems[0].rank, 1);
}

TEST_F(SupervisorTest, SaysWhatAKilledRankWasLastInAndEndsTheOthers) {
  options.limits.failureGrace = Milliseconds(50);
  const auto outcome = launch(2, "steps=1000; 0: hang@2; 1: kill=9@3");
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome.value().state, RunState::kFailed);
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kRankKilled);
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 was ended by SIGKILL in iteration 3, in backward, "),
                    EndsWith(" into allreduce of bucket 3 (sequence 41, hook allreduce)")));
  const auto run = summary();
  EXPECT_EQ(run.info.state, RunState::kFailed);
  EXPECT_EQ(run.info.exitCode, 5);
  EXPECT_EQ(run.info.failure, outcome.value().failure);
  EXPECT_EQ(run.ranks[1].state, "killed");
  EXPECT_EQ(run.ranks[1].signal, SIGKILL);
  EXPECT_EQ(run.ranks[1].exitCode, std::nullopt);
  EXPECT_EQ(run.ranks[0].state, "stopped");
  EXPECT_EQ(run.ranks[0].exitCode, 130);
  for (const auto& rank : run.ranks) {
    EXPECT_EQ(kill(static_cast<pid_t>(rank.pid), 0), -1) << "rank " << rank.rank << " lives";
  }
}

TEST_F(SupervisorTest, NamesTheStartupStageOfARankThatCrashesBeforeItsFirstStep) {
  options.limits.failureGrace = Milliseconds(50);
  const auto outcome = launch(2, "0: hang@startup; 1: kill=11@startup");
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome.value().failure,
              StartsWith("rank 1 was ended by SIGSEGV during start-up, in rendezvous"));
}

TEST_F(SupervisorTest, EndsARankThatIgnoresSigtermAfterAFailure) {
  options.limits.failureGrace = Milliseconds(50);
  options.limits.terminateGrace = Milliseconds(50);
  const auto outcome = launch(2, "0: deaf@1; 1: exit=6@1");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kHookFailed);
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 failed (exit code 6) in iteration 1"),
                    HasSubstr("rank 0 did not end by itself and was killed, in iteration 1")));
  EXPECT_EQ(summary().ranks[0].signal, SIGKILL);
}

TEST_F(SupervisorTest, NamesASuspendedRankWhenAPeersCollectiveTimesOutAndKillsItAtOnce) {
  options.limits.failureGrace = std::chrono::hours(1);
  const auto outcome = launch(2, "0: exit=4@4; 1: suspend@2");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kCommFailed);
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("rank 1 was suspended (SIGSTOP) and was killed, in iteration 2"),
                    HasSubstr("; rank 0 failed (exit code 4)"),
                    HasSubstr("allreduce of bucket 3: rank 1 is gone")));
}

TEST_F(SupervisorTest, GivesUpWhenNoRankReachesItsFirstStep) {
  // Enough for the three to begin and to say where they are on a machine that is busy.
  options.experiment.processes.timeoutSeconds = 1;
  options.limits.startupMargin = Milliseconds(1000);
  options.limits.terminateGrace = Milliseconds(50);
  const auto outcome = launch(3, "0: hang@startup; 1: deaf@startup; 2: suspend@startup");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kTimeout);
  EXPECT_THAT(outcome.value().failure,
              AllOf(StartsWith("no rank reached its first step within "),
                    ContainsRegex("rank 0(, rank 1)? during start-up, in rendezvous"),
                    HasSubstr("suspended (SIGSTOP)")));
}

TEST_F(SupervisorTest, SaysThatARankProgramCannotBeExecuted) {
  options.rankProgram = folder / "no-program";
  std::ofstream(options.rankProgram) << "\x7f"
                                        "ELF but not really";
  ::chmod(options.rankProgram.c_str(), 0755);
  const auto outcome = launch(2, "");
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.value().state, RunState::kFailed);
  EXPECT_EQ(outcome.value().exitCode, ExitCode::kEnvironment);
  EXPECT_THAT(outcome.value().failure, HasSubstr("cannot start " + options.rankProgram.string()));
}

TEST_F(SupervisorTest, RefusesAnExistingRunFileAndLeavesItAlone) {
  std::ofstream(options.runFile) << "mine";
  const auto outcome = launch(2, "");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ExitCode::kEnvironment);
  EXPECT_THAT(outcome.error().message(), HasSubstr(options.runFile.string()));
  std::string text;
  std::ifstream(options.runFile) >> text;
  EXPECT_EQ(text, "mine");
}

TEST_F(SupervisorTest, RefusesAFolderThatCannotBeMade) {
  std::ofstream(folder / "file") << "";
  options.runFile = folder / "file" / "run.lockstep";
  const auto outcome = launch(2, "");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ExitCode::kEnvironment);
}

TEST_F(SupervisorTest, NamesThePortThatIsTakenAndLeavesNoRunFile) {
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  options.experiment.processes.masterPort = ntohs(address.sin_port);
  const auto outcome = launch(2, "");
  close(taken);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ExitCode::kEnvironment);
  EXPECT_THAT(outcome.error().message(),
              HasSubstr(fmt::format("processes.master_port = {}", ntohs(address.sin_port))));
  EXPECT_FALSE(std::filesystem::exists(options.runFile));
}

TEST_F(SupervisorTest, SaysHowManyDescriptorsAreNeeded) {
  // A hard limit cannot be raised again by everybody, so it is lowered in a child.
  EXPECT_EXIT(
      {
        rlimit low{};
        low.rlim_cur = low.rlim_max = 64;
        setrlimit(RLIMIT_NOFILE, &low);
        const auto outcome = launch(8, "");
        std::fprintf(stderr, "%s\n", outcome.ok() ? "ran" : outcome.error().message().c_str());
        _exit(outcome.ok() ? 0 : static_cast<int>(outcome.error().code));
      },
      testing::ExitedWithCode(3), "8 ranks need 224 open files and the hard limit is 64");
}

TEST_F(SupervisorTest, SaysWhenTheEventMemoryDoesNotFit) {
  options.experiment.capture.ringEvents = std::int64_t{1} << 31;
  const auto outcome = launch(64, "");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message(), HasSubstr("lower capture.ring_events"));
  EXPECT_FALSE(std::filesystem::exists(options.runFile));
}

TEST_F(SupervisorTest, LeavesNoDescriptorAndNoSocketBehind) {
  ASSERT_TRUE(launch(1, "").ok());
  options.runFile = folder / "second.lockstep";
  const int before = countDescriptors();
  ASSERT_TRUE(launch(2, "1: kill=9@1").ok());
  EXPECT_EQ(countDescriptors(), before);
  EXPECT_TRUE(std::filesystem::is_empty(options.controlDirectory));
}

TEST_F(SupervisorTest, ReportsProgressWhileRanksTrain) {
  bool sawSteps = false;
  const auto outcome = launch(1, "steps=4; 0: hang@3", [&](const LaunchProgress& progress) {
    if (!sawSteps && progress.state == RunState::kRunning && progress.recorder.steps.at(0) == 3) {
      sawSteps = true;
      EXPECT_FALSE(progress.stopping);
      kill(getpid(), SIGTERM);
    }
  });
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(sawSteps);
  EXPECT_EQ(outcome.value().state, RunState::kStopped);
}

}  // namespace
}  // namespace lockstep::launch

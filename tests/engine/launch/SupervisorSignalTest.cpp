#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "engine/launch/ControlSocket.h"
#include "tests/engine/launch/LaunchFixture.h"

namespace lockstep::launch {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using trace::RunState;

/// Runs a supervisor of two fake ranks as a process.
class SupervisorSignalTest : public LaunchFixture {
 protected:
  ~SupervisorSignalTest() override {
    for (const int fd : rankFds) {
      close(fd);
    }
    if (output != nullptr) {
      std::fclose(output);
    }
    if (supervisor > 0) {
      kill(supervisor, SIGKILL);
      waitpid(supervisor, nullptr, 0);
    }
  }

  /// Starts it and returns once all ranks train.
  void start(const std::string& plan, int stopGraceMs = 10'000) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    // A session of its own: no terminal, whoever runs the test.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    const std::string program = programBeside("lockstep_supervise_fixture").string();
    const std::string grace = std::to_string(stopGraceMs);
    const std::string rankProgram = "LOCKSTEP_RANK=" + options.rankProgram.string();
    const std::string planVariable = "FAKE_RANK_PLAN=" + plan;
    const std::string runtime = "XDG_RUNTIME_DIR=" + folder.string();
    const char* arguments[] = {program.c_str(), options.runFile.c_str(), "2", grace.c_str(), nullptr};
    const char* environment[] = {rankProgram.c_str(), planVariable.c_str(), runtime.c_str(), nullptr};
    ASSERT_EQ(posix_spawn(&supervisor, program.c_str(), &actions, &attributes,
                          const_cast<char**>(arguments), const_cast<char**>(environment)),
              0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output = fdopen(ends[0], "r");

    std::istringstream words(readLine());
    std::string word;
    words >> word;
    ASSERT_EQ(word, "training");
    for (pid_t pid = 0; words >> pid;) {
      rankFds.push_back(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
      ASSERT_GE(rankFds.back(), 0);
    }
    ASSERT_THAT(rankFds, SizeIs(2));
  }

  std::string readLine() {
    std::array<char, 256> line{};
    return std::fgets(line.data(), line.size(), output) == nullptr ? "" : line.data();
  }

  /// Waits for the supervisor and returns its wait status.
  int waitForSupervisor() {
    int status = 0;
    waitpid(supervisor, &status, 0);
    supervisor = -1;
    return status;
  }

  /// Returns whether every rank ends within five seconds.
  bool ranksEnd() {
    for (const int fd : rankFds) {
      pollfd ended{fd, POLLIN, 0};
      if (poll(&ended, 1, 5000) != 1) {
        return false;
      }
    }
    return true;
  }

  pid_t supervisor = -1;
  std::FILE* output = nullptr;
  std::vector<int> rankFds;
};

TEST_F(SupervisorSignalTest, StopsAfterTheStepOnCtrlC) {
  start("steps=1000000000; 0: hang@3");
  kill(supervisor, SIGINT);
  EXPECT_EQ(readLine(), "outcome stopped\n");
  const int status = waitForSupervisor();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(ranksEnd());
  EXPECT_EQ(summary().info.state, RunState::kStopped);
  EXPECT_EQ(summary().info.exitCode, 130);
  EXPECT_EQ(summary().ranks[0].state, "stopped");
}

TEST_F(SupervisorSignalTest, KillsAtOnceOnASecondCtrlC) {
  start("0: deaf@1; 1: deaf@1", 600'000);
  kill(supervisor, SIGINT);
  // The stop is under way once a status says so; only then is the next signal a second one.
  for (std::string status; status.find("\"stopping\":true") == std::string::npos;) {
    const auto answer = sendControl(options.runFile, {ControlCommand::Kind::kStatus});
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    status = answer.value();
  }
  kill(supervisor, SIGINT);
  EXPECT_EQ(readLine(), "outcome stopped\n");
  EXPECT_EQ(WEXITSTATUS(waitForSupervisor()), 130);
  EXPECT_TRUE(ranksEnd());
  EXPECT_EQ(summary().ranks[0].signal, SIGKILL);
}

TEST_F(SupervisorSignalTest, KillsARankThatDoesNotStopWithinTheGrace) {
  start("0: deaf@1; 1: hang@1", 100);
  kill(supervisor, SIGTERM);
  EXPECT_EQ(readLine(), "outcome stopped\n");
  EXPECT_TRUE(ranksEnd());
}

TEST_F(SupervisorSignalTest, PassesOverHangUpWithoutATerminal) {
  // Signals are read in the order of their numbers, so a SIGHUP that counted would be the
  // first, and the SIGTERM after it the second, which kills.
  start("0: hang@1; 1: hang@1");
  kill(supervisor, SIGSTOP);
  kill(supervisor, SIGHUP);
  kill(supervisor, SIGTERM);
  kill(supervisor, SIGCONT);
  EXPECT_EQ(readLine(), "outcome stopped\n");
  waitForSupervisor();
  EXPECT_EQ(summary().ranks[0].state, "stopped");
}

TEST_F(SupervisorSignalTest, LeavesNoRankAndAReadableFileWhenItIsKilled) {
  start("0: deaf@1; 1: suspend@1");
  kill(supervisor, SIGKILL);
  waitForSupervisor();
  EXPECT_TRUE(ranksEnd());
  EXPECT_EQ(summary().info.state, RunState::kRecorderDied);
  EXPECT_THAT(summary().ranks, SizeIs(2));
  const auto answer = sendControl(options.runFile, {ControlCommand::Kind::kStop});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message(), HasSubstr("takes no commands"));
}

TEST_F(SupervisorSignalTest, StopsByACommandOnItsSocket) {
  start("0: hang@1; 1: hang@1");
  const auto answer = sendControl(options.runFile, {ControlCommand::Kind::kStop});
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(readLine(), "outcome stopped\n");
  EXPECT_EQ(WEXITSTATUS(waitForSupervisor()), 130);
}

TEST_F(SupervisorSignalTest, SwitchesCaptureByACommandOnItsSocket) {
  start("0: hang@1; 1: hang@1");
  const auto captures = [&](bool enabled) {
    EXPECT_TRUE(sendControl(options.runFile, {ControlCommand::Kind::kCapture, enabled}).ok());
    const auto status = sendControl(options.runFile, {ControlCommand::Kind::kStatus});
    return status.ok() ? status.value() : status.error().message();
  };
  EXPECT_THAT(captures(false), HasSubstr("\"capture\":false"));
  EXPECT_THAT(captures(true), HasSubstr("\"capture\":true"));
}

TEST_F(SupervisorSignalTest, HasNoProfilerOfPyTorchToAsk) {
  start("0: hang@1; 1: hang@1");
  const auto answer =
      sendControl(options.runFile, {ControlCommand::Kind::kTrace, true, {}, 5});
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message(), HasSubstr("this run is of Lockstep's own engine: PyTorch's "
                                                  "profiler is in no rank of it"));
}

}  // namespace
}  // namespace lockstep::launch

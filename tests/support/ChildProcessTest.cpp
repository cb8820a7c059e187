#include "tests/support/ChildProcess.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/support/ChildRole.h"

namespace lockstep::support {
namespace {

int report(const std::vector<std::string>& arguments) {
  std::printf("rank %s of %s\n", std::getenv("RANK"), std::getenv("WORLD_SIZE"));
  std::fprintf(stderr, "on stderr");
  return arguments.empty() ? 0 : std::atoi(arguments.front().c_str());
}

int sleepForever(const std::vector<std::string>&) {
  std::printf("asleep\n");
  std::fflush(stdout);
  for (;;) {
    pause();
  }
}

const RegisterChildRole reporting("report", report);
const RegisterChildRole sleeping("sleep", sleepForever);

TEST(ChildProcess, GivesExitCodeOutputAndErrorsOfEachRank) {
  auto ranks = spawnSelfAsRanks(3, "report", {"7"});
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks[rank].readLine(), "rank " + std::to_string(rank) + " of 3");
    EXPECT_EQ(ranks[rank].wait(), (ExitStatus{false, 7, 0}));
    EXPECT_EQ(ranks[rank].errors(), "on stderr");
  }
}

TEST(ChildProcess, GivesTheSignalThatEndedIt) {
  auto child = ChildProcess::self("sleep");
  EXPECT_EQ(child.readLine(), "asleep");
  child.kill(SIGKILL);
  EXPECT_EQ(child.wait(), (ExitStatus{true, 0, SIGKILL}));
}

TEST(ChildProcess, SaysThatAChildDidNotEndInTime) {
  auto child = ChildProcess::self("sleep");
  child.readLine();
  EXPECT_THROW(child.wait(std::chrono::milliseconds(1)), std::runtime_error);
}

TEST(ChildProcess, SaysHowItStands) {
  auto child = ChildProcess::self("sleep");
  child.readLine();
  EXPECT_THAT(child.situation(),
              testing::ContainsRegex("runs, with the threads .+ [RS] [0-9]+ ms"));
  child.kill(SIGKILL);
  child.wait();
  EXPECT_THAT(child.situation(), testing::HasSubstr("ended by signal 9; its stderr: "));

  auto reporter = ChildProcess::self("report", {"7"});
  reporter.wait();
  EXPECT_THAT(reporter.situation(), testing::HasSubstr("ended with code 7; its stderr: on stderr"));
}

TEST(ChildProcess, KillsAChildThatIsNoLongerWanted) {
  pid_t pid = 0;
  {
    auto child = ChildProcess::self("sleep");
    child.readLine();
    pid = child.pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(ChildProcess, TakesInMoreOutputThanAPipeHolds) {
  ChildProcess child({"/usr/bin/seq", {"1", "50000"}, {}});
  EXPECT_EQ(child.wait(), ExitStatus{});
  EXPECT_THAT(child.output(), testing::EndsWith("50000\n"));
}

TEST(ChildProcess, RefusesAProgramThatIsNotThere) {
  EXPECT_THROW(ChildProcess({"/nowhere/program", {}, {}}), std::system_error);
}

TEST(ChildProcess, NamesARoleThatIsNotThere) {
  auto child = ChildProcess::self("dance");
  EXPECT_EQ(child.wait().code, 1);
  EXPECT_THAT(child.errors(), testing::HasSubstr("'dance'"));
}

}  // namespace
}  // namespace lockstep::support

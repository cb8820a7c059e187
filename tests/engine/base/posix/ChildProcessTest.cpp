#include "engine/base/posix/ChildProcess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string>

#include "engine/base/posix/Spawn.h"

namespace lockstep::posix {
namespace {

ChildProcess::Options shell(const std::string& script) {
  return {"the child", "sh", {"-c", script}, {"PATH=/usr/bin:/bin"}};
}

void awaitReadable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  ASSERT_EQ(poll(&wait, 1, 10'000), 1);
}

ProcessEnd endOf(ChildProcess& child) {
  awaitReadable(child.pidFd());
  return child.reap().value();
}

std::string readAll(int fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (;;) {
    awaitReadable(fd);
    const ssize_t count = read(fd, chunk.data(), chunk.size());
    if (count <= 0) {
      return text;
    }
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

Descriptor fileWith(const std::string& text) {
  Descriptor file(memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

TEST(ChildProcessTest, GivesWhatTheProgramWroteAndItsExitCode) {
  auto child = ChildProcess::spawn(shell("echo out; echo err >&2; cat; exit 7")).value();
  EXPECT_EQ(readAll(child.outputFd()), "out\n");  // and cat saw the end of an empty stdin
  EXPECT_EQ(readAll(child.errorFd()), "err\n");
  const ProcessEnd end = endOf(child);
  EXPECT_EQ(end.exitCode, 7);
  EXPECT_EQ(end.signal, 0);
  EXPECT_FALSE(child.reap().has_value());
}

TEST(ChildProcessTest, GivesTheSignalThatEndedIt) {
  auto child = ChildProcess::spawn(shell("exec sleep 60")).value();
  EXPECT_FALSE(child.reap().has_value());
  child.send(SIGTERM);
  EXPECT_EQ(endOf(child).signal, SIGTERM);
}

TEST(ChildProcessTest, KillsWhatTheProgramLeftRunning) {
  auto child = ChildProcess::spawn(shell("sleep 60 & echo $!")).value();
  std::array<char, 32> line{};
  awaitReadable(child.outputFd());
  ASSERT_GT(read(child.outputFd(), line.data(), line.size() - 1), 0);
  const Descriptor left = watchProcess(std::stoi(line.data()));
  ASSERT_TRUE(left.open());
  endOf(child);
  awaitReadable(left.get());
}

TEST(ChildProcessTest, HandsDescriptorsOverInTheirOrderWhateverTheirNumbers) {
  const Descriptor first = fileWith("first");
  const Descriptor second = fileWith("second");
  ASSERT_GT(second.get(), first.get());
  auto options = shell("cat <&4; cat <&3; [ -e /proc/self/fd/5 ] && echo more");
  // The later place has the lower number: put there first, it would be overwritten.
  options.descriptors = {second.get(), first.get()};
  auto child = ChildProcess::spawn(options).value();
  EXPECT_EQ(readAll(child.outputFd()), "firstsecond");
  endOf(child);
}

TEST(ChildProcessTest, ClosesEveryOtherDescriptor) {
  const Descriptor inherited(fcntl(fileWith("x").get(), F_DUPFD, 200));  // not close-on-exec
  const std::string number = std::to_string(inherited.get());
  auto child = ChildProcess::spawn(shell("[ -e /proc/$$/fd/" + number + " ] && echo open")).value();
  EXPECT_EQ(readAll(child.outputFd()), "");
  endOf(child);
}

TEST(ChildProcessTest, SaysWhichProgramCannotBeStarted) {
  const auto child = ChildProcess::spawn({"rank 1", "/no/such/program", {}, {}});
  EXPECT_EQ(child.error().message(),
            "rank 1: cannot start /no/such/program: No such file or directory");
}

TEST(SpawnTest, ASessionOfItsOwnInAnotherFolder) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor readEnd(ends[0]);
  Descriptor writeEnd(ends[1]);
  SpawnOptions options;
  options.program = "sh";
  options.arguments = {"-c", "pwd; cut -d' ' -f6 /proc/$$/stat; echo $$"};
  options.environment = {"PATH=/usr/bin:/bin"};
  options.output = options.errors = writeEnd.get();
  options.folder = "/usr";
  options.leads = SpawnOptions::Leads::kSession;
  const pid_t pid = spawn(options);
  ASSERT_GT(pid, 0);
  writeEnd.reset();
  EXPECT_EQ(readAll(readEnd.get()),
            "/usr\n" + std::to_string(pid) + "\n" + std::to_string(pid) + "\n");
}

TEST(SpawnTest, NoSignalIsBlockedOrIgnoredInTheProgram) {
  const auto before = signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigset_t mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  for (const int number : {SIGUSR1, SIGUSR2}) {
    auto child = ChildProcess::spawn(shell("exec sleep 60")).value();
    child.send(number);
    EXPECT_EQ(endOf(child).signal, number);
  }
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  signal(SIGUSR1, before);
}

TEST(SpawnTest, SaysByErrnoWhyAProgramCannotBeStarted) {
  SpawnOptions options;
  options.program = "/no/such/program";
  options.output = options.errors = STDERR_FILENO;
  EXPECT_EQ(spawn(options), -1);
  EXPECT_EQ(errno, ENOENT);
  options.program = "true";
  options.output = 12345;
  EXPECT_EQ(spawn(options), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(ChildProcessTest, OneThatEndsBeforeItsStateIsReadHasNone) {
  auto child = ChildProcess::spawn(shell("exit 0"));
  ASSERT_TRUE(child.ok());
  const pid_t pid = child.value().pid();
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  endOf(child.value());
  EXPECT_EQ(schedulerState(stat), '\0');
  EXPECT_EQ(schedulerState(pid), '\0');
}

}  // namespace
}  // namespace lockstep::posix

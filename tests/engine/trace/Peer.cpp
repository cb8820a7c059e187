#include "tests/engine/trace/Peer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace lockstep::trace {

Peer::Peer(const std::string& mode, const std::string& argument, int keepFd) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "trace_peer";
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  EXPECT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (keepFd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, keepFd, keepFd);  // drops close-on-exec
  }
  std::array<char*, 4> arguments = {const_cast<char*>(program.c_str()),
                                    const_cast<char*>(mode.c_str()),
                                    const_cast<char*>(argument.c_str()), nullptr};
  EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ), 0)
      << program;
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  toPeer_ = in[1];
  fromPeer_ = out[0];
  expectOk();
}

Peer::~Peer() {
  close(toPeer_);
  close(fromPeer_);
  int status = 0;
  waitpid(pid_, &status, 0);
}

void Peer::command(const std::string& line) {
  const std::string text = line + "\n";
  EXPECT_EQ(write(toPeer_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  expectOk();
}

void Peer::expectOk() {
  std::string answer;
  char c = 0;
  pollfd ready{fromPeer_, POLLIN, 0};
  while (poll(&ready, 1, 30'000) == 1 && read(fromPeer_, &c, 1) == 1 && c != '\n') {
    answer += c;
  }
  EXPECT_EQ(answer, "ok");
}

void Peer::kill() {
  ::kill(pid_, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
}

}  // namespace lockstep::trace

#include "tests/ui/shell/XServer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

extern char** environ;

namespace lockstep::tests {
namespace {

constexpr int kReadyMs = 20'000;

// Xvfb prints the number of the display that it found free, and a newline.
std::string readDisplay(int fd) {
  std::string text;
  while (text.empty() || text.back() != '\n') {
    pollfd waiting{fd, POLLIN, 0};
    char letter = 0;
    if (poll(&waiting, 1, kReadyMs) != 1 || read(fd, &letter, 1) != 1) {
      throw std::runtime_error("Xvfb did not come up within 20 s");
    }
    text += letter;
  }
  text.pop_back();
  return ":" + text;
}

}  // namespace

XServer::XServer(int width, int height) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe for Xvfb");
  }
  constexpr int kReadyFd = 3;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ready[1], kReadyFd);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words{"Xvfb",   "-displayfd", std::to_string(kReadyFd),
                                 "-screen", "0",
                                 std::to_string(width) + "x" + std::to_string(height) + "x24",
                                 "-nolisten", "tcp"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failure = posix_spawnp(&pid_, "Xvfb", &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ready[1]);
  if (failure != 0) {
    close(ready[0]);
    throw std::runtime_error("Xvfb cannot be started; install xvfb");
  }
  display_ = readDisplay(ready[0]);
  close(ready[0]);
  setenv("DISPLAY", display_.c_str(), 1);
  setenv("QT_QPA_PLATFORM", "xcb", 1);
  unsetenv("WAYLAND_DISPLAY");
}

XServer::~XServer() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
}

}  // namespace lockstep::tests

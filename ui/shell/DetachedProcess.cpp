#include "ui/shell/DetachedProcess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <QFile>
#include <cstring>
#include <vector>

#include "engine/base/Priority.h"

extern char** environ;

namespace lockstep::ui {

using base::Error;
using base::ExitCode;

base::Result<DetachedProcess> DetachedProcess::start(const QString& program,
                                                     const QStringList& arguments,
                                                     const QString& outputPath) {
  const std::string output = QFile::encodeName(outputPath).toStdString();
  const int writable = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (writable < 0) {
    return base::systemError(ExitCode::kEnvironment, "cannot write the run's output", output);
  }
  ::close(writable);

  std::vector<std::string> words{QFile::encodeName(program).toStdString()};
  for (const QString& argument : arguments) {
    words.push_back(QFile::encodeName(argument).toStdString());
  }
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_APPEND, 0);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGINT);
  sigaddset(&usual, SIGTERM);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  int failure = 0;
  // What trains is not put behind others for being started by what watches.
  base::inFront([&] {
    failure = posix_spawn(&pid, words.front().c_str(), &files, &attributes, argv.data(), environ);
  });
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failure != 0) {
    return Error{ExitCode::kEnvironment, std::string("cannot be started: ") + strerror(failure),
                 words.front()};
  }
  return DetachedProcess(pid);
}

std::optional<int> DetachedProcess::poll() {
  if (!ended_) {
    int status = 0;
    const pid_t answer = ::waitpid(pid_, &status, WNOHANG);
    if (answer == pid_) {
      ended_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    } else if (answer < 0) {
      ended_ = static_cast<int>(ExitCode::kUnexpected);  // reaped by somebody else
    }
  }
  return ended_;
}

void DetachedProcess::interrupt() const {
  if (!ended_) {
    ::kill(pid_, SIGINT);
  }
}

}  // namespace lockstep::ui

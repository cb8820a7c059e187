#include "ui/shell/DetachedProcess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <QFile>
#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/base/Priority.h"

extern char** environ;

namespace lockstep::ui {

using base::Error;
using base::ExitCode;

namespace {

/// The pointers that exec takes, into `words`.
std::vector<char*> pointersTo(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// The studio's environment with these variables in the place of those of the same name.
std::vector<std::string> environmentWith(const QStringList& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const QByteArray name = QByteArray(*entry).split('=').front() + '=';
    const bool replaced = std::any_of(
        variables.begin(), variables.end(),
        [&](const QString& variable) { return variable.toLocal8Bit().startsWith(name); });
    if (!replaced) {
      entries.emplace_back(*entry);
    }
  }
  for (const QString& variable : variables) {
    entries.push_back(variable.toLocal8Bit().toStdString());
  }
  return entries;
}

}  // namespace

base::Result<DetachedProcess> DetachedProcess::start(const QString& program,
                                                     const QStringList& arguments,
                                                     const QString& outputPath,
                                                     const Place& place) {
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
  std::vector<std::string> variables = environmentWith(place.environment);
  const std::vector<char*> argv = pointersTo(words);
  const std::vector<char*> envp = pointersTo(variables);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_APPEND, 0);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  if (!place.folder.isEmpty()) {
    posix_spawn_file_actions_addchdir_np(&files, QFile::encodeName(place.folder).constData());
  }
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
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  int failure = 0;
  // What trains is not put behind others for being started by what watches.
  base::inFront([&] {
    failure =
        posix_spawn(&pid, words.front().c_str(), &files, &attributes, argv.data(), envp.data());
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

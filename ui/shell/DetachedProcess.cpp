#include "ui/shell/DetachedProcess.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <QFile>

#include "engine/base/Environment.h"
#include "engine/base/Priority.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/base/posix/Spawn.h"

namespace lockstep::ui {

using base::ExitCode;

base::Result<DetachedProcess> DetachedProcess::start(const QString& program,
                                                     const QStringList& arguments,
                                                     const QString& outputPath,
                                                     const Place& place) {
  const std::string output = QFile::encodeName(outputPath).toStdString();
  const posix::Descriptor file(
      ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.open()) {
    return base::systemError(ExitCode::kEnvironment, "cannot write the run's output", output);
  }
  posix::SpawnOptions child;
  child.program = QFile::encodeName(program).toStdString();
  for (const QString& argument : arguments) {
    child.arguments.push_back(QFile::encodeName(argument).toStdString());
  }
  child.environment = base::inheritedEnvironment();
  for (const QString& variable : place.environment) {
    const auto equals = variable.indexOf('=');
    base::setVariable(child.environment, variable.left(equals).toLocal8Bit().toStdString(),
                      variable.mid(equals + 1).toLocal8Bit().toStdString());
  }
  child.output = file.get();
  child.errors = file.get();
  child.folder = QFile::encodeName(place.folder).toStdString();
  child.leads = posix::SpawnOptions::Leads::kSession;
  pid_t pid = -1;
  base::Status started;
  // The studio runs with a lower priority, which its children would inherit; the training must not:
  // Note [Back to the front] in engine/base/Priority.cpp.
  base::inFront([&] {
    pid = posix::spawn(child);
    if (pid < 0) {
      started =
          base::systemError(ExitCode::kEnvironment, "cannot be started", child.program.string());
    }
  });
  if (!started.ok()) {
    return started.error();
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

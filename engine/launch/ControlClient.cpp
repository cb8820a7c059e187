#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"
#include "engine/launch/detail/UnixSocket.h"
#include "engine/trace/HostFacts.h"
#include "engine/trace/RunFile.h"

namespace lockstep::launch {
namespace {

using base::Error;
using base::ExitCode;
using Clock = std::chrono::steady_clock;

/// Reads one line, or returns an errno (ETIMEDOUT, ECONNRESET, ...).
int readLine(int fd, Clock::time_point deadline, std::string& line) {
  std::array<char, 4096> buffer;
  while (true) {
    pollfd wait{fd, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    // Rounded up: with 0.4 ms left poll would not wait at all.
    if (left <= 0 || (poll(&wait, 1, static_cast<int>(left)) == 0)) {
      return ETIMEDOUT;
    }
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    // The supervisor has ended, or has let this client go.
    if (count == 0) {
      return ECONNRESET;
    }
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      return errno;
    }
    if (count > 0) {
      line.append(buffer.data(), static_cast<std::size_t>(count));
      if (const std::size_t end = line.find('\n'); end != std::string::npos) {
        line.resize(end);
        return 0;
      }
    }
  }
}

base::Result<std::string> exchange(const std::filesystem::path& socket, const std::string& request,
                                   std::chrono::milliseconds timeout) {
  const auto failed = [&](const char* what, int error) {
    return Error{ExitCode::kEnvironment, std::string(what) + ": " + std::strerror(error),
                 socket.string()};
  };
  // Not blocking: where the queue of the socket is full this fails at once.
  const posix::Descriptor connected = detail::connectUnix(socket);
  if (!connected.open()) {
    return failed("cannot reach the supervisor of this run; it may have just ended", errno);
  }
  const int fd = connected.get();
  std::string line;
  int error = 0;
  // A request fits the socket's buffer.
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    error = errno;
  } else {
    error = readLine(fd, Clock::now() + timeout, line);
  }
  if (error != 0) {
    return failed("no answer from the supervisor of this run", error);
  }
  return line;
}

bool takesCommands(const trace::RunInfo& info) {
  return info.state == trace::RunState::kStarting || info.state == trace::RunState::kRunning;
}

/// What a run file says of its run once it names its socket: the file is there some milliseconds
/// before its recorder first writes into it. Of a run that takes no commands it is not waited for.
base::Result<trace::RunInfo> infoWithSocket(const std::filesystem::path& runFile,
                                            std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLookEvery{10};
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    const trace::RunInfo info = LOCKSTEP_TRY(trace::readRunSummary(runFile)).info;
    if (!takesCommands(info) || !info.controlSocket.empty()) {
      return info;
    }
    if (Clock::now() >= deadline) {
      return Error{ExitCode::kEnvironment,
                   fmt::format("the supervisor of this run, process {}, has not said within {:g} s "
                               "where it takes commands; send it again",
                               info.supervisorPid, std::chrono::duration<double>(timeout).count()),
                   runFile.string()};
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace

std::filesystem::path controlDirectory(const std::filesystem::path& chosen) {
  if (!chosen.empty()) {
    return chosen;
  }
  // The variable may outlive its folder (su, cron), which then helps nobody.
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR");
      runtime != nullptr && *runtime == '/' && access(runtime, W_OK | X_OK) == 0) {
    return std::filesystem::path(runtime) / "lockstep";
  }
  return "/tmp/lockstep-" + std::to_string(geteuid());
}

base::Result<std::string> sendControl(const std::filesystem::path& runFile,
                                      const ControlCommand& command,
                                      std::chrono::milliseconds timeout) {
  const trace::RunInfo info = LOCKSTEP_TRY(infoWithSocket(runFile, timeout));
  // Whether it lives is not known of a recorder whose host has another name. Its socket can be
  // reached where that is a container of this machine that shares the folder.
  const bool isElsewhere = info.hostName != trace::hostName() && !info.controlSocket.empty() &&
                           !trace::hasEnded(info.state);
  if (!isElsewhere && !takesCommands(info)) {
    return Error{
        ExitCode::kBadInput,
        fmt::format("this run takes no commands, its state is \"{}\"", trace::name(info.state)),
        runFile.string()};
  }
  const auto line = exchange(info.controlSocket, toJson(command) + "\n", timeout);
  if (!line.ok() && isElsewhere) {
    return Error{ExitCode::kBadInput,
                 fmt::format("this run was started on host {}, and whether it goes on there cannot "
                             "be told on {}; send the command there",
                             info.hostName, trace::hostName()),
                 runFile.string()};
  }
  if (!line.ok()) {
    return line.error();
  }
  const auto answer = nlohmann::json::parse(line.value(), nullptr, false);
  if (!answer.is_object() || !answer.contains("ok") || answer["ok"] != true) {
    const bool hasReason =
        answer.is_object() && answer.contains("error") && answer["error"].is_string();
    return Error{
        ExitCode::kBadInput,
        hasReason ? answer["error"].get<std::string>() : "the supervisor gave no sensible answer",
        runFile.string()};
  }
  return line.value();
}

}  // namespace lockstep::launch

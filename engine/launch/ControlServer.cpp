#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "engine/launch/ControlSocket.h"
#include "engine/launch/detail/LineServer.h"
#include "engine/launch/detail/UnixSocket.h"

namespace lockstep::launch {
namespace {

using base::Error;
using base::ExitCode;
using base::systemError;

base::Status prepareDirectory(const std::filesystem::path& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return systemError(ExitCode::kEnvironment, "cannot create the folder of control sockets",
                       directory.string());
  }
  struct stat status {};
  if (lstat(directory.c_str(), &status) != 0) {
    return systemError(ExitCode::kEnvironment, "cannot use the folder of control sockets",
                       directory.string());
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    return Error{ExitCode::kEnvironment,
                 "the folder of control sockets must be a folder of yours that nobody else can "
                 "enter (mode 0700); remove it or set XDG_RUNTIME_DIR",
                 directory.string()};
  }
  return {};
}

/// A supervisor that was killed leaves its socket behind; nobody listens there any more.
void removeDeadSockets(const std::filesystem::path& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".sock") {
      continue;
    }
    const int fd = detail::connectUnix(entry.path());
    if (fd >= 0) {
      close(fd);
    } else if (fd == -ECONNREFUSED) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

}  // namespace

base::Result<std::unique_ptr<ControlServer>> ControlServer::listen(
    EventLoop& loop, const std::filesystem::path& directory, const std::string& name,
    Handler handler) {
  if (auto prepared = prepareDirectory(directory); !prepared.ok()) {
    return prepared.error();
  }
  removeDeadSockets(directory);
  const auto answer = [handler = std::move(handler)](int fd, std::string_view line) {
    const auto command = controlCommandFromJson(line);
    const std::string text =
        (command.ok() ? handler(command.value())
                      : nlohmann::json{{"ok", false}, {"error", command.error().what}}.dump()) +
        "\n";
    // An answer is far smaller than a socket's buffer: a client that lets it fill does not read.
    return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  };
  auto lines =
      detail::LineServer::listen(loop, directory / (name + ".sock"), {"commands", 16, 16}, answer);
  if (!lines.ok()) {
    return lines.error();
  }
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(lines).value()));
}

ControlServer::ControlServer(std::unique_ptr<detail::LineServer> lines)
    : lines_(std::move(lines)) {}

ControlServer::~ControlServer() = default;

const std::filesystem::path& ControlServer::path() const {
  return lines_->path();
}

}  // namespace lockstep::launch

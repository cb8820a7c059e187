#include <sys/socket.h>

#include <utility>

#include "engine/base/Try.h"
#include "engine/launch/ControlSocket.h"
#include "engine/launch/detail/LineServer.h"
#include "engine/launch/detail/UnixSocket.h"

namespace lockstep::launch {

base::Result<std::unique_ptr<ControlServer>> ControlServer::listen(
    posix::EventLoop& loop, const std::filesystem::path& directory, const std::string& name,
    Handler handler) {
  LOCKSTEP_TRY(detail::prepareSocketFolder(directory));
  const auto answer = [handler = std::move(handler)](int fd, std::string_view line) {
    const auto command = controlCommandFromJson(line);
    const std::string text =
        (command.ok() ? handler(command.value()) : controlRefused(command.error().what)) + "\n";
    // An answer is far smaller than a socket's buffer: a client that lets it fill does not read.
    return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  };
  auto lines = LOCKSTEP_TRY(
      detail::LineServer::listen(loop, directory / (name + ".sock"), {"commands", 16, 16}, answer));
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(lines)));
}

ControlServer::ControlServer(std::unique_ptr<detail::LineServer> lines)
    : lines_(std::move(lines)) {}

ControlServer::~ControlServer() = default;

const std::filesystem::path& ControlServer::path() const {
  return lines_->path();
}

}  // namespace lockstep::launch

#include "engine/launch/detail/LineServer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/launch/detail/UnixSocket.h"

namespace lockstep::launch::detail {

using base::Error;
using base::ExitCode;

base::Result<std::unique_ptr<LineServer>> LineServer::listen(EventLoop& loop,
                                                             const std::filesystem::path& path,
                                                             const Options& options,
                                                             Handler handler) {
  const int fd = listenUnix(path, options.waiting);
  if (fd == -ENAMETOOLONG) {
    return Error{ExitCode::kEnvironment,
                 "this path is too long for a socket; set XDG_RUNTIME_DIR to a shorter one",
                 path.string()};
  }
  if (fd < 0) {
    errno = -fd;
    return base::systemError(ExitCode::kEnvironment, "cannot listen for " + options.purpose,
                             path.string());
  }
  auto server = std::unique_ptr<LineServer>(
      new LineServer(loop, path, fd, options.clients, std::move(handler)));
  if (auto added = loop.add(fd, [raw = server.get()] { raw->acceptClients(); }); !added.ok()) {
    return added.error();
  }
  return server;
}

LineServer::LineServer(EventLoop& loop, std::filesystem::path path, int fd, std::size_t clients,
                       Handler handler)
    : loop_(loop),
      path_(std::move(path)),
      fd_(fd),
      clients_(clients),
      handler_(std::move(handler)) {}

LineServer::~LineServer() {
  while (!pending_.empty()) {
    dropClient(pending_.begin()->first);
  }
  loop_.remove(fd_);
  close(fd_);
  unlink(path_.c_str());
}

void LineServer::acceptClients() {
  while (true) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      return;
    }
    if (pending_.size() == clients_ || !peerIsThisUser(fd) ||
        !loop_.add(fd, [this, fd] { readClient(fd); }).ok()) {
      close(fd);
      continue;
    }
    pending_.emplace(fd, "");
  }
}

void LineServer::dropClient(int fd) {
  loop_.remove(fd);
  close(fd);
  pending_.erase(fd);
}

void LineServer::readClient(int fd) {
  std::array<char, kMaxLineBytes> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (count <= 0) {
    dropClient(fd);
    return;
  }
  std::string& text = pending_.at(fd);
  text.append(buffer.data(), static_cast<std::size_t>(count));
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    const std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    if (!handler_(fd, line)) {
      dropClient(fd);
      return;
    }
  }
  if (text.size() > kMaxLineBytes) {
    dropClient(fd);
  }
}

}  // namespace lockstep::launch::detail

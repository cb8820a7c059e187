#include "engine/launch/detail/LineServer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/Try.h"
#include "engine/launch/detail/UnixSocket.h"

namespace lockstep::launch::detail {

using base::Error;
using base::ExitCode;

base::Result<std::unique_ptr<LineServer>> LineServer::listen(posix::EventLoop& loop,
                                                             const std::filesystem::path& path,
                                                             const Options& options,
                                                             Handler handler) {
  posix::Descriptor socket = listenUnix(path, options.waiting);
  if (!socket.open() && errno == ENAMETOOLONG) {
    return Error{ExitCode::kEnvironment,
                 "this path is too long for a socket; set XDG_RUNTIME_DIR to a shorter one",
                 path.string()};
  }
  if (!socket.open()) {
    return base::systemError(ExitCode::kEnvironment, "cannot listen for " + options.purpose,
                             path.string());
  }
  auto server = std::unique_ptr<LineServer>(
      new LineServer(loop, path, std::move(socket), options.clients, std::move(handler)));
  LOCKSTEP_TRY(loop.add(server->socket_.get(), [raw = server.get()] { raw->acceptClients(); }));
  return server;
}

LineServer::LineServer(posix::EventLoop& loop, std::filesystem::path path, posix::Descriptor socket,
                       std::size_t clients, Handler handler)
    : loop_(loop),
      path_(std::move(path)),
      socket_(std::move(socket)),
      mostClients_(clients),
      handler_(std::move(handler)) {}

LineServer::~LineServer() {
  while (!clients_.empty()) {
    dropClient(clients_.begin()->first);
  }
  loop_.remove(socket_.get());
  unlink(path_.c_str());
}

void LineServer::acceptClients() {
  while (true) {
    posix::Descriptor client(
        accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.open()) {
      return;
    }
    const int fd = client.get();
    // Who is not taken is let go by the end of `client`. All that wait are accepted before the loop
    // goes on, or a full queue would turn others away.
    if (clients_.size() < mostClients_ && peerIsThisUser(fd) &&
        loop_.add(fd, [this, fd] { readClient(fd); }).ok()) {
      clients_.emplace(fd, Client{std::move(client), ""});
    }
  }
}

void LineServer::dropClient(int fd) {
  loop_.remove(fd);
  clients_.erase(fd);
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
  std::string& text = clients_.at(fd).pending;
  text.append(buffer.data(), static_cast<std::size_t>(count));
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    const std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    if (!handler_(fd, line)) {
      dropClient(fd);
      return;
    }
  }
  // Only of a line without an end: complete ones are gone from it.
  if (text.size() > kMaxLineBytes) {
    dropClient(fd);
  }
}

}  // namespace lockstep::launch::detail

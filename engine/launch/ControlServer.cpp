#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "engine/launch/ControlSocket.h"
#include "engine/launch/detail/UnixSocket.h"

namespace lockstep::launch {
namespace {

using base::Error;
using base::ExitCode;
using base::systemError;

constexpr std::size_t kMaxClients = 16;
constexpr std::size_t kMaxLineBytes = 4096;

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
  const std::filesystem::path path = directory / (name + ".sock");
  const int fd = detail::listenUnix(path, kMaxClients);
  if (fd == -ENAMETOOLONG) {
    return Error{ExitCode::kEnvironment,
                 "this path is too long for a control socket; set XDG_RUNTIME_DIR to a shorter one",
                 path.string()};
  }
  if (fd < 0) {
    errno = -fd;
    return systemError(ExitCode::kEnvironment, "cannot listen for commands", path.string());
  }
  auto server =
      std::unique_ptr<ControlServer>(new ControlServer(loop, path, fd, std::move(handler)));
  if (auto added = loop.add(fd, [raw = server.get()] { raw->acceptClients(); }); !added.ok()) {
    return added.error();
  }
  return server;
}

ControlServer::ControlServer(EventLoop& loop, std::filesystem::path path, int fd, Handler handler)
    : loop_(loop), path_(std::move(path)), fd_(fd), handler_(std::move(handler)) {}

ControlServer::~ControlServer() {
  while (!pending_.empty()) {
    dropClient(pending_.begin()->first);
  }
  loop_.remove(fd_);
  close(fd_);
  unlink(path_.c_str());
}

void ControlServer::acceptClients() {
  while (true) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      return;
    }
    if (pending_.size() == kMaxClients || !detail::peerIsThisUser(fd) ||
        !loop_.add(fd, [this, fd] { readClient(fd); }).ok()) {
      close(fd);
      continue;
    }
    pending_.emplace(fd, "");
  }
}

void ControlServer::dropClient(int fd) {
  loop_.remove(fd);
  close(fd);
  pending_.erase(fd);
}

void ControlServer::readClient(int fd) {
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
    const auto command = controlCommandFromJson(std::string_view(text).substr(0, end));
    const std::string answer =
        (command.ok() ? handler_(command.value())
                      : nlohmann::json{{"ok", false}, {"error", command.error().what}}.dump()) +
        "\n";
    text.erase(0, end + 1);
    // An answer is far smaller than a socket's buffer: a client that lets it fill does not read.
    if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(answer.size())) {
      dropClient(fd);
      return;
    }
  }
  if (text.size() > kMaxLineBytes) {
    dropClient(fd);
  }
}

}  // namespace lockstep::launch

#include "engine/launch/detail/UnixSocket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;
using base::systemError;

/// A process that was killed leaves its socket behind; nobody listens there any more.
void removeDeadSockets(const std::filesystem::path& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".sock") {
      continue;
    }
    // Any other error may be of one that lives: a full queue, a socket that is being made.
    if (!connectUnix(entry.path()).open() && errno == ECONNREFUSED) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

}  // namespace

std::optional<sockaddr_un> unixAddress(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof(address.sun_path)) {
    return std::nullopt;
  }
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  return address;
}

posix::Descriptor connectUnix(const std::filesystem::path& path) {
  const auto address = unixAddress(path);
  if (!address) {
    errno = ENAMETOOLONG;
    return {};
  }
  posix::Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.open() &&
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    fd.reset();
  }
  return fd;
}

posix::Descriptor listenUnix(const std::filesystem::path& path, int waiting) {
  // Bound under another name and renamed once it listens; removeDeadSockets() of another process
  // leaves "new" alone.
  std::filesystem::path draft = path;
  draft.replace_extension("new");
  const auto address = unixAddress(draft);
  if (!address || !unixAddress(path)) {
    errno = ENAMETOOLONG;
    return {};
  }
  posix::Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.open() ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    return {};
  }
  if (chmod(draft.c_str(), 0600) != 0 || listen(fd.get(), waiting) != 0 ||
      rename(draft.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(draft.c_str());
    errno = error;
    return {};
  }
  return fd;
}

bool peerIsThisUser(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

base::Status prepareSocketFolder(const std::filesystem::path& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return systemError(ExitCode::kEnvironment, "cannot create the folder of control sockets",
                       directory.string());
  }
  struct stat status {};
  // Not followed: in /tmp anybody may have put a link here, to a folder of their own.
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
  removeDeadSockets(directory);
  return {};
}

}  // namespace lockstep::launch::detail

#include "engine/process_group/gloo/Connections.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

namespace lockstep::process_group::gloo {
namespace {

/// 0 for a socket of another kind, and where it has been closed, and its number may be another's by
/// now.
int unacknowledgedBytes(unsigned long inode, int descriptor) {
  struct stat now {};
  tcp_info info{};
  socklen_t size = sizeof info;
  int bytes = 0;
  const bool same = fstat(descriptor, &now) == 0 && now.st_ino == inode &&
                    getsockopt(descriptor, SOL_TCP, TCP_INFO, &info, &size) == 0;
  return same && ioctl(descriptor, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace

Connections openConnections(const Connections& others) {
  Connections connections;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    struct stat socket {};
    if (fstat(descriptor, &socket) == 0 && S_ISSOCK(socket.st_mode) &&
        !others.contains(socket.st_ino)) {
      connections[socket.st_ino] = descriptor;
    }
  }
  return connections;
}

void awaitDelivery(const Connections& connections, std::chrono::milliseconds atMost) {
  const auto until = std::chrono::steady_clock::now() + atMost;
  for (const auto& [inode, descriptor] : connections) {
    while (unacknowledgedBytes(inode, descriptor) > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace lockstep::process_group::gloo

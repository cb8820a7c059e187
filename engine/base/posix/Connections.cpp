#include "engine/base/posix/Connections.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <thread>

namespace lockstep::posix {
namespace {

/// What the kernel counts of a TCP socket.
struct Counts {
  std::uint64_t arrived = 0;   ///< bytes read here, and bytes that the peer's host has
  std::uint64_t underway = 0;  ///< bytes sent that it does not have yet
};

/// Nothing for a socket of another kind, and where it has been closed, and its number may be
/// another's by now.
Counts countsOf(unsigned long inode, int descriptor) {
  struct stat now {};
  tcp_info info{};
  socklen_t size = sizeof info;
  int unread = 0;
  int unacknowledged = 0;
  if (fstat(descriptor, &now) != 0 || now.st_ino != inode ||
      getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      ioctl(descriptor, SIOCINQ, &unread) != 0 ||
      ioctl(descriptor, SIOCOUTQ, &unacknowledged) != 0) {
    return {};
  }
  return {info.tcpi_bytes_acked + info.tcpi_bytes_received - static_cast<std::uint64_t>(unread),
          static_cast<std::uint64_t>(unacknowledged)};
}

Counts countsOf(const Connections& connections) {
  Counts all;
  for (const auto& [inode, descriptor] : connections) {
    const Counts counts = countsOf(inode, descriptor);
    all.arrived += counts.arrived;
    all.underway += counts.underway;
  }
  return all;
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

std::uint64_t movedBytes(const Connections& connections) {
  return countsOf(connections).arrived;
}

void awaitDelivery(const Connections& connections, std::chrono::milliseconds still,
                   std::chrono::milliseconds atMost) {
  const auto start = std::chrono::steady_clock::now();
  auto lastMove = start;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  while (true) {
    const std::uint64_t underway = countsOf(connections).underway;
    const auto now = std::chrono::steady_clock::now();
    if (underway < least) {
      least = underway;
      lastMove = now;
    }
    if (underway == 0 || now - lastMove >= still || now - start >= atMost) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace lockstep::posix

#include "engine/process_group/gloo/Connections.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

namespace lockstep::process_group::gloo {
namespace {

bool isConnectedTcp(int descriptor) {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  sockaddr_storage peer{};
  socklen_t peerSize = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
         protocol == IPPROTO_TCP &&
         getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peerSize) == 0;
}

/// 0 where the socket has been closed, and its number may be another's by now.
int unacknowledgedBytes(unsigned long inode, int descriptor) {
  struct stat now {};
  int bytes = 0;
  const bool same = fstat(descriptor, &now) == 0 && now.st_ino == inode;
  return same && ioctl(descriptor, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace

Connections Connections::open() {
  Connections connections;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    struct stat socket {};
    if (isConnectedTcp(descriptor) && fstat(descriptor, &socket) == 0) {
      connections.descriptors_[socket.st_ino] = descriptor;
    }
  }
  return connections;
}

Connections Connections::without(const Connections& others) const {
  Connections rest = *this;
  std::erase_if(rest.descriptors_,
                [&](const auto& one) { return others.descriptors_.contains(one.first); });
  return rest;
}

void Connections::awaitDelivery(std::chrono::milliseconds atMost) const {
  const auto until = std::chrono::steady_clock::now() + atMost;
  for (const auto& [inode, descriptor] : descriptors_) {
    while (unacknowledgedBytes(inode, descriptor) > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace lockstep::process_group::gloo

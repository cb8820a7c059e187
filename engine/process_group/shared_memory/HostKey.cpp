#include "engine/process_group/shared_memory/HostKey.h"

#include <unistd.h>

#include <array>
#include <fstream>

namespace lockstep::process_group {

std::string hostKey() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> space{};
  // Abstract addresses, by which ranks meet (Meeting.cpp), live in this namespace.
  const ssize_t length = readlink("/proc/self/ns/net", space.data(), space.size());
  if (boot.empty() || length <= 0) {
    return {};
  }
  return boot + " " + std::string(space.data(), static_cast<std::size_t>(length));
}

}  // namespace lockstep::process_group

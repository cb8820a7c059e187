// How much memory there is to reserve.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "engine/process_group/shared_memory/Segment.h"

namespace lockstep::process_group::shared_memory {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
// Too little to be worth looking for.
constexpr std::uint64_t kSmall = 1u << 20;

std::uint64_t numberIn(const std::string& path) {
  std::uint64_t number = kUnlimited;
  std::ifstream file(path);
  return file >> number ? number : kUnlimited;  // "max" is no number
}

std::uint64_t freeOnHost() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    if (name == "MemAvailable:") {
      return kilobytes * 1024;
    }
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return kUnlimited;
}

// What a control group has of files' pages, which the kernel takes back when memory is short.
std::uint64_t reclaimable(const std::string& folder) {
  std::ifstream file(folder + "/memory.stat");
  std::string name;
  std::uint64_t number = 0;
  std::uint64_t sum = 0;
  while (file >> name >> number) {
    if (name == "inactive_file" || name == "active_file") {
      sum += number;
    }
  }
  return sum;
}

// What this process's control group, version 2, may still take.
std::uint64_t freeInControlGroup() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("0::", 0) == 0) {
      const std::string folder = "/sys/fs/cgroup" + line.substr(3);
      const std::uint64_t most = numberIn(folder + "/memory.max");
      const std::uint64_t taken = numberIn(folder + "/memory.current");
      if (most == kUnlimited || taken == kUnlimited) {
        return kUnlimited;
      }
      // Pages of files count as taken, but the kernel gives them up before it refuses.
      const std::uint64_t kept = taken - std::min(taken, reclaimable(folder));
      return most > kept ? most - kept : 0;
    }
  }
  return kUnlimited;
}

}  // namespace

std::string whyNoRoom(std::uint64_t bytes) {
  // A memfd counts as a file for this limit, and a larger one ends the process by SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur) {
    return fmt::format("the limit on file size (ulimit -f) is {} bytes",
                       static_cast<std::uint64_t>(limit.rlim_cur));
  }
  if (bytes < kSmall) {
    return {};
  }
  if (const std::uint64_t free = freeInControlGroup(); bytes > free) {
    return fmt::format("the control group of this process may take {} bytes more (memory.max)",
                       free);
  }
  if (const std::uint64_t free = freeOnHost(); bytes > free) {
    return fmt::format("the host has {} bytes free", free);
  }
  return {};
}

}  // namespace lockstep::process_group::shared_memory

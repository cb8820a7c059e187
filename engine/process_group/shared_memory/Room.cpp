#include "engine/process_group/shared_memory/Room.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace lockstep::process_group::shared_memory {
namespace {

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

// What the group of a folder may still take by its own limit.
std::uint64_t freeByOwnLimit(const std::string& folder) {
  const std::uint64_t most = numberIn(folder + "/memory.max");
  const std::uint64_t taken = numberIn(folder + "/memory.current");
  if (most == kUnlimited || taken == kUnlimited) {
    return kUnlimited;
  }
  // Pages of files count as taken, but the kernel gives them up before it refuses.
  const std::uint64_t kept = taken - std::min(taken, reclaimable(folder));
  return most > kept ? most - kept : 0;
}

// The control group of this process, version 2; empty where it has none.
std::string ownControlGroup() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("0::", 0) == 0) {
      return line.substr(3);
    }
  }
  return {};
}

}  // namespace

std::uint64_t freeInControlGroup(const std::string& root, std::string group) {
  std::uint64_t free = freeByOwnLimit(root + group);
  for (std::size_t end = group.rfind('/'); end != std::string::npos; end = group.rfind('/')) {
    group.resize(end);
    free = std::min(free, freeByOwnLimit(root + group));
  }
  return free;
}

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
  if (const std::uint64_t free = freeInControlGroup("/sys/fs/cgroup", ownControlGroup());
      bytes > free) {
    return fmt::format("the control group of this process may take {} bytes more (memory.max)",
                       free);
  }
  if (const std::uint64_t free = freeOnHost(); bytes > free) {
    return fmt::format("the host has {} bytes free", free);
  }
  return {};
}

}  // namespace lockstep::process_group::shared_memory

#include "engine/trace/ResourceSampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/base/Clock.h"
#include "engine/base/posix/Descriptor.h"
#include "engine/trace/Event.h"
#include "engine/trace/StolenTime.h"

namespace lockstep::trace {
namespace {

// Names are given soon after a thread starts, and are not worth a read each time.
constexpr std::uint64_t kNamesEverySamples = 10;

// How the names of the backends' threads begin.
constexpr std::array<std::string_view, 5> kBackends{"gloo", "shm", "hier", "mpi", "nccl"};

std::string readFile(const std::string& path) {
  std::array<char, 1024> buffer{};
  const posix::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t count = read(file.get(), buffer.data(), buffer.size());
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : "";
}

/// Returns a thread's processor time. schedstat counts nanoseconds; where the kernel has none,
/// stat counts clock ticks (utime and stime, fields 14 and 15).
std::optional<std::uint64_t> threadCpuNs(const std::string& folder) {
  if (const std::string schedstat = readFile(folder + "/schedstat"); !schedstat.empty()) {
    return std::strtoull(schedstat.c_str(), nullptr, 10);
  }
  const std::string stat = readFile(folder + "/stat");
  auto at = stat.rfind(')');
  for (int field = 2; field < 14 && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  if (at == std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const std::uint64_t user = std::strtoull(stat.c_str() + at, &end, 10);
  const std::uint64_t system = std::strtoull(end, nullptr, 10);
  const auto ticksPerSecond = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return (user + system) * (1'000'000'000 / ticksPerSecond);
}

}  // namespace

std::optional<ResourceUse> ResourceSampler::sample(std::int64_t pid) {
  // Another process has taken the rank's place: differences to the old one would be nonsense.
  if (pid != pid_) {
    *this = ResourceSampler();
    pid_ = pid;
  }
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
  const std::string statm = readFile(fmt::format("/proc/{}/statm", pid));
  if (folder == nullptr || statm.empty()) {
    return std::nullopt;
  }
  const std::int64_t nowNs = base::monotonicNs();
  ++samples_;
  std::uint64_t allNs = 0;
  std::uint64_t stepNs = 0;
  std::uint64_t commNs = 0;
  while (const dirent* entry = readdir(folder.get())) {
    const std::int64_t tid = std::strtoll(entry->d_name, nullptr, 10);
    const std::string task = tasks + "/" + entry->d_name;
    const auto cpuNs = tid > 0 ? threadCpuNs(task) : std::nullopt;
    if (!cpuNs.has_value()) {
      continue;
    }
    Thread& thread = threads_[tid];
    if (thread.seen == 0 || samples_ % kNamesEverySamples == 0) {
      const std::string name = readFile(task + "/comm");
      thread.isComm = std::any_of(kBackends.begin(), kBackends.end(), [&](std::string_view of) {
        return name.starts_with(of);
      });
    }
    // Of a thread that is new all its time counts: it was born since the last sample.
    const std::uint64_t usedNs = *cpuNs > thread.cpuNs ? *cpuNs - thread.cpuNs : 0;
    thread.cpuNs = *cpuNs;
    thread.seen = samples_;
    allNs += usedNs;
    stepNs += tid == pid ? usedNs : 0;
    commNs += thread.isComm ? usedNs : 0;
  }
  std::erase_if(threads_, [this](const auto& item) { return item.second.seen != samples_; });
  const double wallNs = static_cast<double>(nowNs - lastNs_);
  const bool first = lastNs_ == 0;
  lastNs_ = nowNs;
  // The times of the first sample are since the threads' birth, and no rate of anything.
  if (first || wallNs <= 0) {
    return std::nullopt;
  }
  const char* resident = std::strchr(statm.c_str(), ' ');
  ResourceUse use;
  use.residentBytes = resident == nullptr ? 0
                                          : std::strtod(resident, nullptr) *
                                                static_cast<double>(sysconf(_SC_PAGESIZE));
  // One that has died and not been waited for has no memory left: that is no sample.
  if (use.residentBytes <= 0) {
    return std::nullopt;
  }
  use.cpuPercent = 100.0 * static_cast<double>(allNs) / wallNs;
  use.stepThreadPercent = 100.0 * static_cast<double>(stepNs) / wallNs;
  use.commThreadsPercent = 100.0 * static_cast<double>(commNs) / wallNs;
  use.stolenPercent = StolenTime::ofThisMachine().percent(nowNs);
  return use;
}

std::vector<std::pair<CounterId, double>> countersOf(const ResourceUse& use) {
  std::vector<std::pair<CounterId, double>> counters{
      {CounterId::kResidentBytes, use.residentBytes},
      {CounterId::kCpuPercent, use.cpuPercent},
      {CounterId::kStepThreadCpuPercent, use.stepThreadPercent},
      {CounterId::kCommThreadsCpuPercent, use.commThreadsPercent}};
  if (use.stolenPercent) {
    counters.emplace_back(CounterId::kStolenPercent, *use.stolenPercent);
  }
  return counters;
}

}  // namespace lockstep::trace

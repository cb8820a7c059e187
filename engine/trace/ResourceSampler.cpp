#include "engine/trace/ResourceSampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
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

constexpr std::uint64_t kListEverySamples = 10;
constexpr std::size_t kMostHeld = 4;  // files of threads that stay open, of one process

// How the names of the backends' threads begin.
constexpr std::array<std::string_view, 5> kBackends{"gloo", "shm", "hier", "mpi", "nccl"};

posix::Descriptor opened(const std::string& path) {
  return posix::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::string textOf(const posix::Descriptor& file) {
  std::array<char, 1024> buffer{};
  const ssize_t count = pread(file.get(), buffer.data(), buffer.size(), 0);
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : "";
}

/// Whether the kernel tells a thread's time in nanoseconds; every kernel has stat, in clock ticks.
bool hasSchedstat() {
  static const bool has = access("/proc/self/schedstat", R_OK) == 0;
  return has;
}

/// Returns a thread's processor time by its schedstat or by its stat (utime and stime, fields 14
/// and 15).
std::optional<std::uint64_t> threadCpuNs(const std::string& text) {
  if (hasSchedstat()) {
    return text.empty() ? std::nullopt
                        : std::optional<std::uint64_t>(std::strtoull(text.c_str(), nullptr, 10));
  }
  auto at = text.rfind(')');
  for (int field = 2; field < 14 && at != std::string::npos; ++field) {
    at = text.find(' ', at + 1);
  }
  if (at == std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const std::uint64_t user = std::strtoull(text.c_str() + at, &end, 10);
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
    statm_ = opened(fmt::format("/proc/{}/statm", pid));
  }
  const std::string statm = textOf(statm_);
  const char* resident = std::strchr(statm.c_str(), ' ');
  const double residentBytes =
      resident == nullptr
          ? 0
          : std::strtod(resident, nullptr) * static_cast<double>(sysconf(_SC_PAGESIZE));
  // One that has died and not been waited for has no memory left: that is no sample. Its number may
  // be another's next time.
  if (residentBytes <= 0) {
    *this = ResourceSampler();
    return std::nullopt;
  }
  struct stat tasks {};
  const bool counted = stat(fmt::format("/proc/{}/task", pid).c_str(), &tasks) == 0;
  if (samples_++ % kListEverySamples == 0 || !counted || tasks.st_nlink != threadLinks_) {
    listThreads();
    threadLinks_ = tasks.st_nlink;
  }
  const std::int64_t nowNs = base::monotonicNs();
  const std::uint64_t processNs = this->processNs();
  const std::uint64_t allNs = processNs - std::min(processNs, std::exchange(processNs_, processNs));
  const std::uint64_t stepNs = usedSince(stepThread_, pid);
  std::uint64_t commNs = 0;
  for (auto& [tid, thread] : commThreads_) {
    commNs += usedSince(thread, tid);
  }
  const double wallNs = static_cast<double>(nowNs - lastNs_);
  const bool first = lastNs_ == 0;
  lastNs_ = nowNs;
  // The times of the first sample are since the threads' birth, and no rate of anything.
  if (first || wallNs <= 0) {
    return std::nullopt;
  }
  ResourceUse use;
  use.residentBytes = residentBytes;
  use.cpuPercent = 100.0 * static_cast<double>(allNs) / wallNs;
  use.stepThreadPercent = 100.0 * static_cast<double>(stepNs) / wallNs;
  use.commThreadsPercent = 100.0 * static_cast<double>(commNs) / wallNs;
  use.stolenPercent = StolenTime::ofThisMachine().percent(nowNs);
  return use;
}

void ResourceSampler::listThreads() {
  const std::string tasks = fmt::format("/proc/{}/task", pid_);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
  if (folder == nullptr) {
    return;
  }
  const std::set<std::int64_t> before = std::exchange(listed_, {});
  while (const dirent* entry = readdir(folder.get())) {
    const std::int64_t tid = std::strtoll(entry->d_name, nullptr, 10);
    if (tid <= 0) {
      continue;
    }
    listed_.insert(tid);
    const std::string name = textOf(opened(fmt::format("{}/{}/comm", tasks, tid)));
    if (!std::any_of(kBackends.begin(), kBackends.end(),
                     [&](std::string_view of) { return name.starts_with(of); })) {
      commThreads_.erase(tid);
    } else if (const auto [thread, isNew] = commThreads_.try_emplace(tid);
               isNew && before.contains(tid)) {
      usedSince(thread->second, tid);  // what it did before it had this name is not the backend's
    }
    // Of a thread that is new all its time counts: it was born since the last sample.
  }
  std::erase_if(commThreads_, [this](const auto& item) { return !listed_.contains(item.first); });
}

std::uint64_t ResourceSampler::usedSince(Thread& thread, std::int64_t tid) {
  std::string text = textOf(thread.file);
  // Not open yet, or its thread has ended; another may have got its number.
  if (text.empty()) {
    thread.file.reset();
    posix::Descriptor file = opened(
        fmt::format("/proc/{}/task/{}/{}", pid_, tid, hasSchedstat() ? "schedstat" : "stat"));
    text = textOf(file);
    const auto held = std::count_if(commThreads_.begin(), commThreads_.end(),
                                    [](const auto& item) { return item.second.file.open(); });
    if (static_cast<std::size_t>(held) < kMostHeld) {
      thread.file = std::move(file);
    }
  }
  const std::uint64_t cpuNs = threadCpuNs(text).value_or(thread.cpuNs);
  return cpuNs - std::min(cpuNs, std::exchange(thread.cpuNs, cpuNs));
}

std::uint64_t ResourceSampler::processNs() const {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(static_cast<pid_t>(pid_), &clock) != 0 ||
      clock_gettime(clock, &time) != 0) {
    return processNs_;
  }
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
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

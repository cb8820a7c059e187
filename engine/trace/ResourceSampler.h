#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/posix/Descriptor.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::trace {

/// What a process used between two samples; 100 percent is one core.
struct ResourceUse {
  double residentBytes = 0;
  double cpuPercent = 0;
  double stepThreadPercent = 0;         ///< the main thread
  double commThreadsPercent = 0;        ///< of the backends, by what they call their threads
  std::optional<double> stolenPercent;  ///< of its machine (StolenTime.h)
};

/// What a run file says of it.
std::vector<std::pair<CounterId, double>> countersOf(const ResourceUse& use);

/// Reads a rank's memory and processor time from the kernel, so that the rank does nothing for it.
/// One thread at a time.
class ResourceSampler {
 public:
  /// Returns the use since the last call. Returns nothing on the first call for a process, and when
  /// it does not run any more, even if nobody has waited for it yet.
  std::optional<ResourceUse> sample(std::int64_t pid);

 private:
  // Note [What a sample costs]
  //
  // It is taken up to ten times a second of each rank, on cores that the ranks need, and to open a
  // file of /proc costs ten times what reading it does. So files stay open, of the few threads that
  // are asked for by themselves: the main thread and the backends'. The sum over all threads is the
  // process's own clock. Threads are listed again when their number has changed, and every tenth
  // time, since names are given soon after a thread starts.

  /// One of the threads whose time is told by itself.
  struct Thread {
    posix::Descriptor file;
    std::uint64_t cpuNs = 0;
  };

  void listThreads();
  /// Returns what a thread has used since this was asked last.
  std::uint64_t usedSince(Thread& thread, std::int64_t tid);
  std::uint64_t processNs() const;

  std::int64_t pid_ = 0;
  posix::Descriptor statm_;
  Thread stepThread_;
  std::map<std::int64_t, Thread> commThreads_;
  std::set<std::int64_t> listed_;  // all threads, when they were listed last
  std::uint64_t threadLinks_ = 0;  // of the folder of threads: changes with their number
  std::uint64_t samples_ = 0;
  std::uint64_t processNs_ = 0;
  std::int64_t lastNs_ = 0;
};

}  // namespace lockstep::trace

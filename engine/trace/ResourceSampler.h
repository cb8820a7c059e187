#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// Reads a rank's memory and processor time from /proc, so that the rank does nothing for it.
/// One thread at a time.
class ResourceSampler {
 public:
  /// Returns the use since the last call. Returns nothing on the first call for a process, and when
  /// it does not run any more, even if nobody has waited for it yet.
  std::optional<ResourceUse> sample(std::int64_t pid);

 private:
  struct Thread {
    bool isComm = false;
    std::uint64_t cpuNs = 0;
    std::uint64_t seen = 0;
  };

  std::int64_t pid_ = 0;
  std::int64_t lastNs_ = 0;
  std::uint64_t samples_ = 0;
  std::map<std::int64_t, Thread> threads_;
};

}  // namespace lockstep::trace

#include "engine/trace/ClockDoubt.h"

#include <algorithm>

namespace lockstep::trace {

void ClockDoubt::take(const RunUpdate& update) {
  if (update.ranks) {
    hostOf_.clear();
    for (const RankInfo& rank : *update.ranks) {
      // With all ranks on the recording host the map is empty, and none() says so.
      if (rank.host != kRecordingHost) {
        hostOf_[rank.rank] = rank.host;
      }
    }
  }
  if (update.hosts) {
    uncertaintyNs_.clear();
    for (const HostState& host : *update.hosts) {
      if (host.offset) {
        uncertaintyNs_[host.info.host] = host.offset->uncertaintyNs;
      }
    }
  }
}

int ClockDoubt::hostOf(int rank) const {
  const auto host = hostOf_.find(rank);
  return host == hostOf_.end() ? kRecordingHost : host->second;
}

std::int64_t ClockDoubt::ofNs(int rank) const {
  const auto known = uncertaintyNs_.find(hostOf(rank));
  return known == uncertaintyNs_.end() ? 0 : known->second;
}

std::int64_t ClockDoubt::betweenNs(int a, int b) const {
  return hostOf_.empty() || hostOf(a) == hostOf(b) ? 0 : ofNs(a) + ofNs(b);
}

std::int64_t ClockDoubt::mostNs() const {
  std::int64_t most = 0;
  for (const auto& [host, uncertaintyNs] : uncertaintyNs_) {
    most = std::max(most, uncertaintyNs);
  }
  return none() ? 0 : 2 * most;
}

}  // namespace lockstep::trace

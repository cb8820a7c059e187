#include "engine/analysis/RunCores.h"

#include <map>
#include <set>
#include <sstream>
#include <string>

namespace lockstep::analysis {
namespace {

constexpr double kFewestValues = 5;  // of a rank's processor time, ten a second

std::string factOf(const std::map<std::string, std::string>& environment, const std::string& key) {
  const auto found = environment.find(key);
  return found == environment.end() ? std::string() : found->second;
}

/// How many cores the ranks may run on together; 0: not known.
double countOf(const trace::RunInfo& info, const std::vector<trace::RankInfo>& ranks) {
  double count = 0;
  std::istringstream(factOf(info.environment, "cores")) >> count;
  std::set<int> pinned;
  for (const trace::RankInfo& rank : ranks) {
    std::istringstream cores(factOf(rank.environment, "cores"));
    int core = 0;
    if (!(cores >> core)) {
      return count;  // one that is pinned nowhere may run on any
    }
    do {
      pinned.insert(core);
    } while (cores >> core);
  }
  return static_cast<double>(pinned.size());
}

}  // namespace

std::optional<cost::Cores> coresOf(const RunData& data, const trace::RunInfo& info,
                                   const std::vector<trace::RankInfo>& ranks) {
  cost::Cores cores{countOf(info, ranks), 0, info.worldSize};
  if (!(cores.count > 0) || ranks.size() != static_cast<std::size_t>(info.worldSize)) {
    return std::nullopt;
  }
  for (const trace::RankInfo& rank : ranks) {
    const auto busy = data.busy.find(rank.rank);
    if (rank.host != trace::kRecordingHost || factOf(rank.environment, "device") != "cpu" ||
        busy == data.busy.end() || busy->second.values < kFewestValues) {
      return std::nullopt;
    }
    cores.busy += busy->second.percent / busy->second.values / 100;
  }
  return cores;
}

}  // namespace lockstep::analysis

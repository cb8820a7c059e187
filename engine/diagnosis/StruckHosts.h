#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::diagnosis {

/// A host of which most ranks have the same the matter.
struct StruckHost {
  int host = trace::kRecordingHost;
  std::string name;        ///< its number, where it has none
  std::size_t size = 0;    ///< how many ranks it has
  std::vector<int> ranks;  ///< those of them that have it, sorted
};

/// Returns the hosts that are at fault and not the ranks: more than one and more than half of their
/// ranks are among `told`, and such hosts are at most half of all. Where most hosts have it, it is
/// not the host that makes the difference. `hostOf` says where all ranks of the run are.
std::vector<StruckHost> struckHosts(const std::vector<int>& told, const std::map<int, int>& hostOf,
                                    const std::vector<trace::HostState>& hosts);

}  // namespace lockstep::diagnosis

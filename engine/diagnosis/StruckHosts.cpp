#include "engine/diagnosis/StruckHosts.h"

#include <algorithm>
#include <utility>

namespace lockstep::diagnosis {
namespace {

std::string nameOfHost(int host, const std::vector<trace::HostState>& hosts) {
  const auto found = std::find_if(hosts.begin(), hosts.end(), [host](const trace::HostState& of) {
    return of.info.host == host;
  });
  return found == hosts.end() || found->info.name.empty() ? std::to_string(host) : found->info.name;
}

}  // namespace

std::vector<StruckHost> struckHosts(const std::vector<int>& told, const std::map<int, int>& hostOf,
                                    const std::vector<trace::HostState>& hosts) {
  std::map<int, StruckHost> all;
  for (const auto& [rank, host] : hostOf) {
    all[host].size += 1;
  }
  for (const int rank : told) {
    if (const auto host = hostOf.find(rank); host != hostOf.end()) {
      all[host->second].ranks.push_back(rank);
    }
  }
  std::vector<StruckHost> struck;
  for (auto& [host, of] : all) {
    if (of.ranks.size() > 1 && of.ranks.size() * 2 > of.size) {
      of.host = host;
      of.name = nameOfHost(host, hosts);
      std::sort(of.ranks.begin(), of.ranks.end());
      struck.push_back(std::move(of));
    }
  }
  return struck.size() * 2 > all.size() ? std::vector<StruckHost>() : struck;
}

}  // namespace lockstep::diagnosis

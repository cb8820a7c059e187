#include "tests/engine/process_group/hierarchical/HostThreads.h"

namespace lockstep::process_group {

void runOnHosts(const std::vector<int>& hosts, const std::function<void(ProcessGroup&)>& body,
                GroupOptions options, const std::string& backend,
                const std::vector<trace::Tracer*>& tracers) {
  const auto store = std::make_shared<store::HashStore>();
  const int size = static_cast<int>(hosts.size());
  runGroups(
      size,
      [&](int rank) {
        const auto index = static_cast<std::size_t>(rank);
        GroupOptions own = options;
        own.host = "host " + std::to_string(hosts[index]);
        own.tracer = tracers.empty() ? nullptr : tracers[index];
        return makeProcessGroup(backend, store, rank, size, own);
      },
      body);
}

std::string hostsName(const std::vector<int>& hosts) {
  std::string name;
  for (const int host : hosts) {
    name += (name.empty() ? "" : "_") + std::to_string(host);
  }
  return name;
}

}  // namespace lockstep::process_group

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {

/// Runs `body` with each rank's part of a group of `backend`; rank r is a thread on the made-up
/// host `hosts[r]`. With `tracers`, rank r records into the r-th (may be null).
void runOnHosts(const std::vector<int>& hosts, const std::function<void(ProcessGroup&)>& body,
                GroupOptions options = quickOptions(), const std::string& backend = "hierarchical",
                const std::vector<trace::Tracer*>& tracers = {});

/// The number of ranks on each host in a test's name: "2_1_1".
std::string hostsName(const std::vector<int>& hosts);

}  // namespace lockstep::process_group

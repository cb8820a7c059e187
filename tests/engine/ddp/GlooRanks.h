#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::ddp::test {

using GroupPtr = std::shared_ptr<process_group::ProcessGroup>;

/// Time limit 20 s, over the loopback interface.
process_group::GroupOptions glooOptions();

/// Runs `body` once a rank, each on a thread of its own, over Gloo or another backend. Returns the
/// text of each rank's exception; "" = none. Groups end together, after every body has returned.
std::vector<std::string> runOverGloo(int world, const std::function<void(GroupPtr)>& body,
                                     const process_group::GroupOptions& options = glooOptions(),
                                     const std::string& backend = "gloo");

}  // namespace lockstep::ddp::test

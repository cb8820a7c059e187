#pragma once

#include <memory>

#include "engine/process_group/ProcessGroup.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::hooks::detail {

class PluginSession;

/// A group as plugins see it. The table comes first: a plugin's pointer to it is one to this.
struct HostGroup {
  lockstep_group table{};
  std::shared_ptr<process_group::ProcessGroup> group;
};

/// Whose table it is.
PluginSession& sessionOf(const lockstep_host* host);

/// The functions that a plugin may call, for one hook. The session outlives the hook.
lockstep_host hostTable(PluginSession* session);
void fillGroup(HostGroup& entry, std::shared_ptr<process_group::ProcessGroup> group);

}  // namespace lockstep::hooks::detail

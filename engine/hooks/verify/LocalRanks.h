#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "engine/hooks/plugin/PluginHook.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/trace/Tracer.h"

namespace lockstep::hooks {

/// One rank, a thread of this process, with a hook.
struct LocalRank {
  int rank = 0;
  int world = 1;
  std::shared_ptr<process_group::ProcessGroup> group;  ///< not the hook's
  std::shared_ptr<trace::Tracer> wire;                 ///< of the hook's groups
  std::unique_ptr<PluginHook> hook;

  /// What the hook has sent so far.
  [[nodiscard]] std::uint64_t sentBytes() const { return wire->sentBytes(); }
};

struct LocalRanksOptions {
  int world = 2;
  plugin::HookChoice choice;
  /// For the ranks to meet, in subgroups of the hook, too.
  std::chrono::milliseconds meetingTimeout{30000};
  /// For each operation of a group of all ranks.
  std::chrono::milliseconds timeout{20000};
  /// PluginHookOptions::timeout
  std::chrono::milliseconds hookTimeout{2000};
  process_group::CheckMode check = process_group::CheckMode::kOff;  ///< of the hook's groups
  trace::Tracer* tracerOfRank0 = nullptr;                           ///< for the hook's phases
  /// Called by each rank before it makes its hook. May be empty.
  std::function<void(int rank)> beforeHook;
};

/// Runs `body` on all ranks, over Gloo on one HashStore; each makes the hook before. Returns what
/// each rank threw, in the making or in `body`; null = nothing. When one fails its groups are
/// aborted, as the Reducer does it, so that the others end soon. Hooks are destroyed when all
/// ranks are through.
std::vector<std::exception_ptr> runLocalRanks(const LocalRanksOptions& options,
                                              const std::function<void(LocalRank&)>& body);

}  // namespace lockstep::hooks

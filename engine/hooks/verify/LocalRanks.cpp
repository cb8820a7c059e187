#include "engine/hooks/verify/LocalRanks.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/process_group/CommError.h"
#include "engine/process_group/Subgroups.h"
#include "engine/store/HashStore.h"

namespace lockstep::hooks {

namespace {

using process_group::ProcessGroup;
using process_group::Subgroups;
using Store = std::shared_ptr<store::HashStore>;

std::shared_ptr<ProcessGroup> meet(const Store& store, const LocalRank& rank,
                                   const process_group::GroupOptions& options,
                                   std::chrono::milliseconds timeout) {
  auto group = process_group::makeProcessGroup("gloo", store, rank.rank, rank.world, options);
  if (!group.ok()) {
    process_group::CommError::Where where;
    where.group = options.groupName;
    where.rank = rank.rank;
    throw process_group::CommError(where, group.error().message());
  }
  group.value()->setTimeout(timeout);
  return std::move(group).value();
}

/// Makes the groups and the hook, runs the body.
void runRank(LocalRank& own, const Store& store, const LocalRanksOptions& options,
             const std::function<void(LocalRank&)>& body) {
  own.wire = std::make_shared<trace::Tracer>();
  process_group::GroupOptions plain;
  plain.groupName = "ranks";
  plain.timeout = options.meetingTimeout;
  own.group = meet(store, own, plain, options.timeout);
  std::vector<std::shared_ptr<ProcessGroup>> all{own.group};
  std::vector<std::shared_ptr<Subgroups>> groups;
  // A group for each hook, beside that of the ranks: nothing else may communicate over a hook's.
  for (std::size_t depth = 0; depth < options.choice.size(); ++depth) {
    process_group::GroupOptions ofHook = plain;
    ofHook.groupName = depth == 0 ? "hook" : fmt::format("hook {}", depth);
    ofHook.tracer = own.wire.get();
    ofHook.check = options.check;
    all.push_back(meet(store, own, ofHook, options.timeout));
    groups.push_back(std::make_shared<Subgroups>(all.back(), "gloo", store, ofHook));
  }
  own.group->barrier()->wait();  // all have met in all groups before one may fail
  try {
    if (options.beforeHook) {
      options.beforeHook(own.rank);
    }
    PluginHookOptions ofHook;
    ofHook.choice = options.choice;
    ofHook.groups = groups;
    ofHook.tracer = own.rank == 0 ? options.tracerOfRank0 : nullptr;
    ofHook.timeout = options.hookTimeout;
    ofHook.ranksShareProcess = true;
    own.hook = std::make_unique<PluginHook>(std::move(ofHook));
    body(own);
  } catch (...) {
    // All groups, since another rank may be waiting in any of them.
    for (const auto& group : all) {
      group->abort(fmt::format("rank {} failed", own.rank));
    }
    throw;
  }
}

}  // namespace

std::vector<std::exception_ptr> runLocalRanks(const LocalRanksOptions& options,
                                              const std::function<void(LocalRank&)>& body) {
  const auto store = std::make_shared<store::HashStore>(options.meetingTimeout);
  std::vector<LocalRank> ranks(static_cast<std::size_t>(options.world));
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      base::nameThisThread(fmt::format("rank {}", i));
      ranks[i].rank = static_cast<int>(i);
      ranks[i].world = options.world;
      try {
        runRank(ranks[i], store, options, body);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return errors;
}

}  // namespace lockstep::hooks

#include "engine/process_group/hierarchical/AutomaticBackend.h"

#include <fmt/format.h>

#include "engine/base/Log.h"
#include "engine/base/Try.h"
#include "engine/process_group/gloo/ProcessGroupGloo.h"
#include "engine/process_group/hierarchical/ProcessGroupHierarchical.h"
#include "engine/process_group/shared_memory/ProcessGroupSharedMemory.h"

namespace lockstep::process_group {

hierarchical::Choice hierarchical::choose(const std::vector<HostCard>& cards) {
  const HostMap hosts(cards);
  // Every rank on a host of its own: nothing could be shared.
  if (hosts.count() > 1 && hosts.count() == hosts.ranks()) {
    return {"gloo", ""};
  }
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (!cards[rank].whyNot.empty()) {
      return {"gloo", fmt::format("rank {} cannot share memory: {}", rank, cards[rank].whyNot)};
    }
  }
  return {hosts.count() == 1 ? "shared_memory" : "hierarchical", ""};
}

base::Result<std::shared_ptr<ProcessGroup>> makeAutomatic(std::shared_ptr<store::Store> store,
                                                          int rank, int size,
                                                          const GroupOptions& options) {
  const auto cards = LOCKSTEP_TRY(
      hierarchical::exchangeCards(*store, rank, size, options, hierarchical::ownCard(options)));
  const hierarchical::Choice choice = hierarchical::choose(cards);
  // Once for all ranks.
  if (rank == 0 && !choice.why.empty()) {
    base::logWarning("group {} takes {} for \"auto\": {}", options.groupName, choice.backend,
                     choice.why);
  }
  if (choice.backend == "gloo") {
    return makeGloo(std::move(store), rank, size, options);
  }
  if (choice.backend == "shared_memory") {
    return makeSharedMemory(std::move(store), rank, size, options);
  }
  return makeHierarchicalOver(std::move(store), rank, options, hierarchical::HostMap(cards));
}

}  // namespace lockstep::process_group

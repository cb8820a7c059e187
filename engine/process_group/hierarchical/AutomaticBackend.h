#pragma once

#include <string>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/hierarchical/HostMap.h"

namespace lockstep::process_group {

namespace hierarchical {

/// What "auto" becomes, and why.
struct Choice {
  std::string backend;
  std::string why;  ///< only where shared memory would be taken if it could
};

/// Shared memory where all ranks share a host, Gloo where none do, else both by hierarchy; Gloo
/// when a rank cannot share memory.
[[nodiscard]] Choice choose(const std::vector<HostCard>& cards);

}  // namespace hierarchical

/// The backend "auto": the ranks tell each other through the store where they are, and all take
/// what choose() says. Rank 0 logs why when that is not shared memory though it could have been.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeAutomatic(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options);

}  // namespace lockstep::process_group

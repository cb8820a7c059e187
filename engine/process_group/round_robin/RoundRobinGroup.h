#pragma once

#include "engine/process_group/CompoundGroup.h"

namespace lockstep::process_group {

/// Spreads collectives over several groups of the same ranks, one after the other, so that more
/// of them are in flight on connections of their own, as c10d's ProcessGroupRoundRobin (VLDB'20,
/// figure 12). All ranks make the same calls in the same order, so a call meets its own kind on
/// the same group everywhere. Collectives of different groups may pass each other. send and recv
/// keep to the first group. [any-thread]
class RoundRobinGroup final : public CompoundGroup {
 public:
  /// Throws std::invalid_argument as CompoundGroup.
  RoundRobinGroup(std::string groupName, Groups groups);

 protected:
  [[nodiscard]] ProcessGroup& groupFor(const Request& request, std::uint64_t turn) const override;
};

}  // namespace lockstep::process_group

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group::hierarchical {

/// What a rank says of itself before a group is made.
struct HostCard {
  /// Ranks with equal texts can share memory: hostKey(), the user, and GroupOptions::host.
  std::string host;
  /// Why this rank cannot share memory; empty when it can.
  std::string whyNot;
};

/// The card of this process. [any-thread]
[[nodiscard]] HostCard ownCard(const GroupOptions& options);

/// Tells the other ranks this rank's card and returns all cards, by rank. Blocks until all ranks
/// have come, at most options.timeout; the error names those that did not.
[[nodiscard]] base::Result<std::vector<HostCard>> exchangeCards(store::Store& store, int rank,
                                                                int size,
                                                                const GroupOptions& options,
                                                                const HostCard& own);

/// Which ranks share a host. Hosts are numbered in the order of their first ranks; the ranks of a
/// host have places 0, 1, ... in their order.
class HostMap {
 public:
  explicit HostMap(const std::vector<HostCard>& cards);

  [[nodiscard]] int ranks() const { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] int count() const { return static_cast<int>(members_.size()); }
  /// Whether all hosts have the same number of ranks.
  [[nodiscard]] bool even() const;

  [[nodiscard]] int hostOf(int rank) const { return hosts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int placeOf(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  /// Ranks of a host, by place.
  [[nodiscard]] const std::vector<int>& members(int host) const {
    return members_[static_cast<std::size_t>(host)];
  }
  /// The ranks with this place, by host; each host must have one.
  [[nodiscard]] std::vector<int> atPlace(int place) const;

 private:
  std::vector<int> hosts_;   // by rank
  std::vector<int> places_;  // by rank
  std::vector<std::vector<int>> members_;
};

}  // namespace lockstep::process_group::hierarchical

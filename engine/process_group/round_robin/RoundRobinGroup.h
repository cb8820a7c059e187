#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/process_group/ForwardingGroup.h"

namespace lockstep::process_group {

/// Spreads collectives over several groups of the same ranks, one after the other, so that more
/// of them are in flight on connections of their own, as c10d's ProcessGroupRoundRobin (VLDB'20,
/// figure 12). All ranks make the same calls in the same order, so a call meets its own kind on
/// the same group everywhere. Collectives of different groups may pass each other; a barrier
/// covers all groups. send and recv keep to the first group. When one group is broken, the next
/// collective aborts the others. [any-thread]
class RoundRobinGroup final : public ForwardingGroup {
 public:
  /// Throws std::invalid_argument for an empty list, and when rank or size are not the same in
  /// all groups.
  RoundRobinGroup(std::string groupName, std::vector<std::shared_ptr<ProcessGroup>> groups);
  ~RoundRobinGroup() override;

  [[nodiscard]] const std::vector<std::shared_ptr<ProcessGroup>>& groups() const {
    return groups_;
  }

  at::Tensor allocate(std::int64_t bytes) override { return groups_[0]->allocate(bytes); }
  /// Of this group; each of the others counts its own share.
  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  [[nodiscard]] std::chrono::milliseconds timeout() const override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  void abort(const std::string& reason) override;
  /// The state of the first group that is broken.
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr forward(ForwardedCall call) override;

 private:
  std::vector<std::shared_ptr<ProcessGroup>> groups_;
  mutable std::mutex mutex_;
  std::uint64_t sequence_ = 0;
};

}  // namespace lockstep::process_group

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group {

/// The groups of one job: the world group and subgroups of its ranks, with the maps between a
/// rank's number in the world and in a group, as c10d's new_group and its rank queries. Every
/// rank of the world makes every subgroup, in the same order, whether it is a member or not.
/// [any-thread]
class Subgroups {
 public:
  /// `backend`, `store` and `options` are those of makeProcessGroup() for the subgroups;
  /// options.groupName and groupNumber are those of the world. Subgroups are named
  /// "<world>.1", "<world>.2", ... and numbered from firstNumber on (at most 255) in events.
  /// `wrap` puts each of them into what the world is in, too (a ShapedGroup); may be empty.
  using Wrap = std::function<base::Result<std::shared_ptr<ProcessGroup>>(
      std::shared_ptr<ProcessGroup> group, std::uint8_t number, const std::vector<int>& ranks)>;
  Subgroups(std::shared_ptr<ProcessGroup> world, std::string backend,
            std::shared_ptr<store::Store> store, GroupOptions options,
            std::uint8_t firstNumber = 1, Wrap wrap = {});

  /// Makes a subgroup; member i is the rank `ranks[i]` of the world (in ascending order, each
  /// once). Blocks until its members have come. A rank that is not among them gets an object
  /// whose rank() is -1 and whose operations all throw std::invalid_argument "rank 3 is not part
  /// of group default.1 (ranks 0, 2)"; nobody waits for it. The error names a rank that cannot
  /// be, a list that differs from the one another rank gave, or the ranks that did not come.
  [[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> newGroup(std::vector<int> ranks);

  [[nodiscard]] const std::shared_ptr<ProcessGroup>& world() const { return world_; }

  /// Ranks of the world that belong to `group`, by their rank in it. These three throw
  /// std::invalid_argument "group x is not registered" for a group that was not made here.
  [[nodiscard]] std::vector<int> members(const ProcessGroup& group) const;
  /// Throws std::invalid_argument for a rank that the group does not have.
  [[nodiscard]] int globalRank(const ProcessGroup& group, int groupRank) const;
  /// Throws std::invalid_argument for a rank of the world that is not part of the group.
  [[nodiscard]] int groupRank(const ProcessGroup& group, int globalRank) const;

 private:
  struct Entry {
    std::weak_ptr<ProcessGroup> group;
    std::string name;
    std::vector<int> ranks;
  };

  const std::shared_ptr<ProcessGroup> world_;
  const std::string backend_;
  const std::shared_ptr<store::Store> store_;
  const GroupOptions options_;
  const std::uint8_t firstNumber_;
  const Wrap wrap_;
  mutable std::mutex mutex_;
  int made_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace lockstep::process_group

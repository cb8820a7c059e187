#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group {

/// Several groups of the same ranks as one: each call goes to one of them, and a barrier covers
/// all. When one is broken, the next collective aborts the others. [any-thread]
class CompoundGroup : public ProcessGroup {
 public:
  using Groups = std::vector<std::shared_ptr<ProcessGroup>>;

  /// `kind` opens the texts of the constructor, `name` is backendName() and opens the
  /// texts of refusals. Throws std::invalid_argument for an empty list, and when rank or size are
  /// not the same in all.
  CompoundGroup(const std::string& kind, std::string groupName, std::string name, Groups groups);

  [[nodiscard]] const Groups& groups() const { return groups_; }
  [[nodiscard]] std::string backendName() const override { return name_; }

  /// The first one's.
  at::Tensor allocate(std::int64_t bytes) override { return groups_[0]->allocate(bytes); }
  /// Collectives queued here; each of the groups counts its own share. A barrier counts once.
  [[nodiscard]] std::uint64_t sequenceNumber() const override;
  [[nodiscard]] std::chrono::milliseconds timeout() const override;
  void setTimeout(std::chrono::milliseconds timeout) override;
  void abort(const std::string& reason) override;
  /// The state of the first group that is broken.
  [[nodiscard]] GroupState state() const override;

 protected:
  WorkPtr start(Request request) final;

  /// Returns the group that makes a call, which is no barrier; throws std::invalid_argument when
  /// there is none. `turn` collectives were queued before it; 0 for send and recv.
  [[nodiscard]] virtual ProcessGroup& groupFor(const Request& request,
                                               std::uint64_t turn) const = 0;

 private:
  const std::string name_;
  const Groups groups_;
  mutable std::mutex mutex_;
  std::uint64_t sequence_ = 0;
};

}  // namespace lockstep::process_group

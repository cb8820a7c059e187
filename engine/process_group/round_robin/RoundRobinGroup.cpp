#include "engine/process_group/round_robin/RoundRobinGroup.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/process_group/JoinedWork.h"

namespace lockstep::process_group {
namespace {

using Groups = std::vector<std::shared_ptr<ProcessGroup>>;

const ProcessGroup& firstOf(const Groups& groups) {
  if (groups.empty()) {
    throw std::invalid_argument("RoundRobinGroup: there are no groups to take turns");
  }
  return *groups.front();
}

std::string nameOf(const Groups& groups) {
  return fmt::format("round_robin({} x {})", groups.size(), firstOf(groups).backendName());
}

}  // namespace

RoundRobinGroup::RoundRobinGroup(std::string groupName, Groups groups)
    : ForwardingGroup(firstOf(groups).rank(), firstOf(groups).size(), std::move(groupName),
                      nameOf(groups)),
      groups_(std::move(groups)) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i]->rank() != rank() || groups_[i]->size() != size()) {
      throw std::invalid_argument(fmt::format(
          "RoundRobinGroup: groups[{}] is rank {} of {} and groups[0] is rank {} of {}; all must "
          "have the same ranks",
          i, groups_[i]->rank(), groups_[i]->size(), rank(), size()));
    }
  }
}

RoundRobinGroup::~RoundRobinGroup() = default;

std::uint64_t RoundRobinGroup::sequenceNumber() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

std::chrono::milliseconds RoundRobinGroup::timeout() const { return groups_[0]->timeout(); }

void RoundRobinGroup::setTimeout(std::chrono::milliseconds timeout) {
  for (const auto& group : groups_) {
    group->setTimeout(timeout);
  }
}

void RoundRobinGroup::abort(const std::string& reason) {
  for (const auto& group : groups_) {
    group->abort(reason);
  }
}

GroupState RoundRobinGroup::state() const {
  for (const auto& group : groups_) {
    if (const GroupState state = group->state(); state != GroupState::kSuccess) {
      return state;
    }
  }
  return GroupState::kSuccess;
}

ProcessGroup::WorkPtr RoundRobinGroup::forward(ForwardedCall forwarded) {
  const Call& call = forwarded.call;
  if (call.operation == trace::Operation::kSend || call.operation == trace::Operation::kRecv) {
    return forwarded.issue(*groups_[0]);
  }
  // Taking a turn and calling are one: another call must not come between.
  std::lock_guard lock(mutex_);
  if (state() != GroupState::kSuccess) {
    abort("another of the groups that take turns is broken");
  }
  const std::uint64_t turn = sequence_++;
  if (call.operation != trace::Operation::kBarrier) {
    return forwarded.issue(*groups_[turn % groups_.size()]);
  }
  std::vector<WorkPtr> parts;
  for (const auto& group : groups_) {
    parts.push_back(forwarded.issue(*group));
  }
  CommError::Where where;
  where.group = groupName();
  where.rank = rank();
  where.operation = call.operation;
  where.sequence = sequence_;
  return joinWorks(std::move(parts), std::move(where), {},
                   call.options.timeout == kNoTimeout ? timeout() : call.options.timeout);
}

}  // namespace lockstep::process_group

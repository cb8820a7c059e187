#include "engine/process_group/CompoundGroup.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/process_group/JoinedWork.h"
#include "engine/process_group/Request.h"

namespace lockstep::process_group {
namespace {

const ProcessGroup& firstOf(const std::string& kind, const CompoundGroup::Groups& groups) {
  if (groups.empty()) {
    throw std::invalid_argument(kind + ": there are no groups");
  }
  return *groups.front();
}

}  // namespace

CompoundGroup::CompoundGroup(const std::string& kind, std::string groupName, std::string name,
                             Groups groups)
    : ProcessGroup(firstOf(kind, groups).rank(), firstOf(kind, groups).size(), std::move(groupName),
                   name, Devices::kAny),
      name_(std::move(name)),
      groups_(std::move(groups)) {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i]->rank() != rank() || groups_[i]->size() != size()) {
      throw std::invalid_argument(fmt::format(
          "{}: groups[{}] is rank {} of {} and groups[0] is rank {} of {}; all must have the same "
          "ranks",
          kind, i, groups_[i]->rank(), groups_[i]->size(), rank(), size()));
    }
  }
}

std::uint64_t CompoundGroup::sequenceNumber() const {
  std::lock_guard lock(mutex_);
  return sequence_;
}

std::chrono::milliseconds CompoundGroup::timeout() const { return groups_[0]->timeout(); }

void CompoundGroup::setTimeout(std::chrono::milliseconds timeout) {
  for (const auto& group : groups_) {
    group->setTimeout(timeout);
  }
}

void CompoundGroup::abort(const std::string& reason) {
  for (const auto& group : groups_) {
    group->abort(reason);
  }
}

GroupState CompoundGroup::state() const {
  for (const auto& group : groups_) {
    if (const GroupState state = group->state(); state != GroupState::kSuccess) {
      return state;
    }
  }
  return GroupState::kSuccess;
}

ProcessGroup::WorkPtr CompoundGroup::start(Request request) {
  const Call& call = request.call;
  if (isDirect(call.operation)) {
    // send and recv need no order among collectives, and no turn.
    return groupFor(request, 0).call(request);
  }
  // Not under the lock: callbacks of what this ends may call this group.
  if (state() != GroupState::kSuccess) {
    abort("another of the groups behind this one is broken");
  }
  // Taking a turn and calling are one: another call must not come between.
  std::lock_guard lock(mutex_);
  if (call.operation != trace::Operation::kBarrier) {
    WorkPtr work = groupFor(request, sequence_).call(request);
    ++sequence_;
    return work;
  }
  std::vector<WorkPtr> parts;
  for (const auto& group : groups_) {
    // All of them, in the same order on every rank; the barrier is over when the last is.
    parts.push_back(group->call(request));
  }
  CommError::Where where;
  where.group = groupName();
  where.rank = rank();
  where.operation = call.operation;
  where.sequence = parts.front()->sequence();
  where.groupNumber = parts.front()->groupNumber();
  ++sequence_;
  return joinWorks(std::move(parts), std::move(where), timeLimit(call.options, *this));
}

}  // namespace lockstep::process_group

#include "engine/process_group/round_robin/RoundRobinGroup.h"

#include <fmt/format.h>

namespace lockstep::process_group {
namespace {

std::string nameOf(const CompoundGroup::Groups& groups) {
  return fmt::format("round_robin({} x {})", groups.size(),
                     groups.empty() ? "none" : groups[0]->backendName());
}

}  // namespace

RoundRobinGroup::RoundRobinGroup(std::string groupName, Groups groups)
    : CompoundGroup("RoundRobinGroup", std::move(groupName), nameOf(groups), groups) {}

ProcessGroup& RoundRobinGroup::groupFor(const Request& /*request*/, std::uint64_t turn) const {
  return *groups()[turn % groups().size()];
}

}  // namespace lockstep::process_group

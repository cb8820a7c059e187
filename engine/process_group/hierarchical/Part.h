#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "engine/process_group/Failure.h"
#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group::hierarchical {

/// A group that does a part of the work of a hierarchical one.
struct Part {
  std::shared_ptr<ProcessGroup> group;  ///< null: this rank has no part in it
  std::vector<int> members;             ///< ranks of the whole group, by rank in this one
  std::string place;                    ///< "within the host", "across hosts"; opens error texts

  [[nodiscard]] ProcessGroup& operator*() const { return *group; }
  [[nodiscard]] ProcessGroup* operator->() const { return group.get(); }
};

/// Why a group, or an operation of it, failed; in the numbers of the whole group.
struct Failure : process_group::Failure {
  int origin = -1;    ///< the rank that noticed first
  std::string cause;  ///< what it said
};

/// Replaces the numbers of a part's ranks ("rank 1", "ranks 0, 2") by those of the whole group.
[[nodiscard]] std::string renumbered(const std::string& text, const std::vector<int>& members);

/// What a part's operation failed of, as `rank` sees it. When another rank had broken the part by
/// aborting it with told(), that rank and its cause are named.
[[nodiscard]] Failure failureOf(const std::exception_ptr& error, const Part& part, int rank);

/// What to abort the parts with, so that the other ranks learn the cause whichever way it comes.
[[nodiscard]] std::string told(const Failure& failure);

}  // namespace lockstep::process_group::hierarchical

#pragma once

#include <memory>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/hierarchical/HostMap.h"

namespace lockstep::process_group {

/// Makes a process group over several hosts: shared memory among the ranks of a host, Gloo across
/// hosts, each in its own stage of an operation. Note [Two levels] (Plans.h) says what each
/// operation does, what crosses the hosts, and in which order elements are combined; Note [Stages]
/// (Pipeline.h) how operations overtake each other without coming out of order.
///
/// For events, time limits, failures and abort it is one group: one span an operation, errors in
/// the numbers of the whole group, and the first failure breaks it on all ranks. The bytes it
/// counts are those that cross hosts. Receives from a rank of the same host go over Gloo, too.
///
/// backendName() is "hierarchical(2 x shared_memory, gloo)", with the number of hosts. allocate()
/// returns memory that the ranks of this host share; plain memory where this rank is alone on its
/// host.
///
/// Blocks until all ranks have come. The group's end lets operations in flight finish for up to
/// five seconds; not from a callback of its own.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeHierarchical(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options);
/// The same when the ranks have told each other already which hosts they are on.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeHierarchicalOver(
    std::shared_ptr<store::Store> store, int rank, const GroupOptions& options,
    hierarchical::HostMap hosts);

}  // namespace lockstep::process_group

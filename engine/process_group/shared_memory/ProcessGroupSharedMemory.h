#pragma once

#include <memory>

#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group {

/// Makes a process group over memory that its ranks share: CPU tensors, ranks of one host and one
/// user.
///
/// Operations start in the order of the calls and end in it. Tensors that lie in memory from
/// allocate() are not copied: the ranks reduce them where they are; others pass through a staging
/// segment. Elements are reduced in rank order, so that all ranks have the same bits, every time
/// and whatever the size; half and bfloat16 sums are rounded once. The notes in shared_memory/ say
/// how: Note [Memory order] (Signal.h), Note [How data moves] (Transfer.h), Note [Who drives]
/// (Dispatcher.h), Note [Who spins] (Waiter.h), Note [Send and recv] (PointToPoint.h).
///
/// Errors are those of ProcessGroupGloo: the first failure breaks the group on all ranks, and
/// names the rank that is missing, or what the ranks have called that do not belong together,
/// before any data moves. A process that ends is noticed at once. After a failure other ranks may
/// still read and write what an operation in flight has exposed, until they notice it, too.
///
/// allocate() returns a flat byte tensor in a segment of its own (whole pages), in which the other
/// ranks can reduce. Any group of this process takes it as it lies. It throws CommError when there
/// is no room. In a group of one: plain memory.
///
/// Blocks until all ranks have come. options.threads and options.interfaces mean nothing here. The
/// group's end lets operations in flight finish for up to five seconds; not from a callback of its
/// own.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeSharedMemory(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options);

}  // namespace lockstep::process_group

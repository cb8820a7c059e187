#pragma once

#include <memory>

#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group {

/// Makes a process group over Gloo's TCP transport: CPU tensors, any number of hosts.
///
/// Operations run in the order of the calls on `threads` workers, so several are in flight at
/// once; a barrier waits for all before it. The first failure breaks the group (a dead or
/// stopped peer, a passed time limit, ranks that call different things, abort): everything in
/// flight and every later call fails with a CommError, on all ranks.
///
/// Differs from c10d's ProcessGroupGloo: elements are reduced in rank order, half and bfloat16
/// sums are rounded once; average is there; a mismatch of operation, size, dtype, reduction or
/// root between ranks is an error that names them about a second later, and never ends the
/// process or mixes data; errors name ranks. send and recv are matched by source and tag, and a
/// recv of another size or dtype fails alone, on both sides, without breaking the group.
/// Construction ignores SIGPIPE where the program has not chosen otherwise.
///
/// Blocks until all ranks have come. The group's end lets operations in flight finish for up to
/// five seconds; not from a callback of its own.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeGloo(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options);

}  // namespace lockstep::process_group

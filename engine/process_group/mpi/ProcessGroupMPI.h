#pragma once

#include <memory>

#include "engine/process_group/ProcessGroupFactory.h"

namespace lockstep::process_group {

/// Makes a process group over MPI: CPU tensors, ranks that mpirun or srun has started, a process
/// each; a group of one needs neither. The ranks meet at the store, and need not have MPI's
/// numbers.
///
/// One thread a process makes all calls of MPI, so that any thread level will do: see Note [Who
/// calls MPI] (mpi/Runtime.h). Operations start in the order of the calls; up to 64 are open at
/// once (Note [Order of collectives], mpi/Dispatcher.h). Sums are MPI_Iallreduce's where MPI has
/// the type: all ranks have the same bits, but not in rank order as over the other backends (Note
/// [What MPI reduces], mpi/Collectives.h). Counts beyond MPI's ints are cut up.
///
/// The first failure breaks the group on this rank: everything in flight and every later call
/// fails with a CommError that says what this rank waited for. MPI has no way to tell the others,
/// nor to take a request back: they end by their own time limits, what MPI still has of failed
/// operations is kept, and may be written to, until the process ends, and that ends without
/// MPI_Finalize, upon which mpirun ends the other ranks and fails. What ranks call that does not
/// belong together is noticed where MPI notices it, in messages of another length, and else as a
/// time-out; the wrapper `checked` compares before data moves.
///
/// The communicators of a group that has ended are kept, some 20 KB of OpenMPI's: a message that is
/// still on its way to one of them must not find its number with another.
///
/// MPI is started by the first group, which blocks until every process of the launcher makes one,
/// and ended by endBackends() or a regular end of the process: see EndBackends.h.
///
/// Blocks until all ranks have come. options.interfaces mean nothing here; `threads` are the
/// workers that copy, compute what MPI does not, and run callbacks. The group's end lets operations
/// in flight finish for up to five seconds; not from a callback of its own.
[[nodiscard]] base::Result<std::shared_ptr<ProcessGroup>> makeMpi(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options);

}  // namespace lockstep::process_group

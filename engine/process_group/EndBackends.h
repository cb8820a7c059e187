#pragma once

namespace lockstep::process_group {

/// Ends what backends hold for the whole process; for a rank that ends well, after its last
/// operation, and before an _exit(). For "mpi" that is MPI_Finalize, which waits some seconds for
/// the other ranks: without it mpirun counts the rank as failed and ends the others. It is left out
/// when a group is broken or has something in flight. Groups that stand must not be used any more.
/// A process that ends by exit(0) need not call it. [any-thread]
void endBackends();

}  // namespace lockstep::process_group

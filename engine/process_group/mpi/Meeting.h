#pragma once

#include "engine/base/Result.h"
#include "engine/process_group/Joining.h"
#include "engine/process_group/mpi/Mpi.h"
#include "engine/process_group/mpi/Runtime.h"
#include "engine/store/Store.h"

namespace lockstep::process_group::mpi {

/// A group's own communicators, in the order of its ranks.
struct Connected {
  Runtime* runtime = nullptr;  ///< null in a group of one, which needs no MPI
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm barriers = MPI_COMM_NULL;
};

/// Meets the other ranks through `store`, where each says which process of MPI_COMM_WORLD it is,
/// and makes the group's communicators with them (MPI_Comm_create_group, which only the members
/// call). The error names the ranks that did not come, or says how to start the processes. Groups
/// that are made at the same time by several threads must be made in the same order on all ranks.
base::Result<Connected> connect(store::Store& store, const Joiner& joiner);

}  // namespace lockstep::process_group::mpi

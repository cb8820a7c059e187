#include "engine/process_group/mpi/ProcessGroupMPI.h"

#include "engine/base/Try.h"
#include "engine/process_group/mpi/Dispatcher.h"
#include "engine/process_group/operation/BackendGroup.h"

namespace lockstep::process_group {

base::Result<std::shared_ptr<ProcessGroup>> makeMpi(std::shared_ptr<store::Store> store, int rank,
                                                    int size, const GroupOptions& options) {
  const auto connected = LOCKSTEP_TRY(mpi::connect(*store, joinerOf(rank, size, options)));
  // The MPI thread has a share of it.
  const auto dispatcher = std::make_shared<mpi::Dispatcher>(Member(rank, size, options), connected);
  if (connected.runtime != nullptr) {
    connected.runtime->attach(dispatcher);
  }
  return std::shared_ptr<ProcessGroup>(std::make_shared<DispatchedGroup<mpi::Dispatcher>>(
      dispatcher, "mpi", "ProcessGroupMPI", options));
}

}  // namespace lockstep::process_group

#pragma once

#include <memory>

#include "engine/process_group/Request.h"
#include "engine/process_group/mpi/Flight.h"
#include "engine/process_group/operation/Staging.h"

namespace lockstep::process_group::mpi {

// What each collective posts and computes. In a group of one all is done by Schedule::prepare.

/// This rank's place in its group.
struct Place {
  int rank = 0;
  int size = 1;
};

/// MPI_Ibcast of each tensor.
[[nodiscard]] Schedule broadcast(Place place, const Request& request);

/// MPI_Ibarrier; to be posted once all before it are complete.
[[nodiscard]] Schedule barrier(Place place);

/// Allgather, gather, scatter and alltoall: messages between each two ranks, from the tensors and
/// into them.
[[nodiscard]] Schedule move(Place place, const Request& request);

// Note [What MPI reduces]
// MPI_Iallreduce and MPI_Ireduce have whatever the network and the MPI are good at, and give all
// ranks the same bits, but combine in an order of their own: a run over MPI need not end in the
// bits of a run over another backend. MPI has no half types, drops a NaN in min and max, and would
// round each partial sum of a user-defined operation. For those every rank gets its piece of all
// others' tensors and combines them in rank order, bit by bit as the other backends do
// (operation/PieceReduction.h). A reduce-scatter is always done so: its inputs lie apart, and MPI
// takes only one block.

/// Allreduce, reduce and reduce-scatter. Several tensors are copied into one block.
[[nodiscard]] Schedule reduce(Place place, const Request& request);

/// Has memory shown before the first round: on a worker if that copies anything.
inline void showFirst(Schedule& schedule, bool copies, std::function<void()> show) {
  if (copies) {
    schedule.prepare = std::move(show);
  } else {
    show();
  }
}

/// All there is to do in a group of one, after what is there already.
inline void doAlone(Schedule& schedule, std::function<void()> all) {
  schedule.prepare = [show = std::move(schedule.prepare), all = std::move(all)] {
    if (show) {
      show();
    }
    all();
  };
}

}  // namespace lockstep::process_group::mpi

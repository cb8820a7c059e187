#pragma once

#include <optional>

#include "engine/base/Environment.h"
#include "engine/store/RendezvousEnvironment.h"

namespace lockstep::train {

/// What the environment tells a rank: where it meets the others (store/RendezvousEnvironment.h),
/// torchrun's LOCAL_RANK, and the supervisor's LOCKSTEP_TRACE_FD and LOCKSTEP_EXPERIMENT_FD.
struct TorchrunEnvironment : store::RendezvousEnvironment {
  int localRank = 0;  ///< LOCAL_RANK, or RANK when that is not set
  std::optional<int> traceFd;
  std::optional<int> experimentFd;
};

/// Where RANK, WORLD_SIZE and LOCAL_RANK are not set, those of Open MPI and Slurm are taken.
/// Error (kBadInput): the first variable that is missing, no whole number or out of range.
base::Result<TorchrunEnvironment> torchrunEnvironment(
    const base::ReadVariable& read = base::readEnvironmentVariable);

}  // namespace lockstep::train

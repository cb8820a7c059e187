#include "engine/train/TorchrunEnvironment.h"

#include <limits>

#include "engine/base/Try.h"

namespace lockstep::train {

base::Result<TorchrunEnvironment> torchrunEnvironment(const base::ReadVariable& read) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const auto meeting = LOCKSTEP_TRY(store::rendezvousEnvironment(read));
  TorchrunEnvironment result{meeting, 0, {}, {}};
  base::EnvironmentReader reader(read, "start ranks with `lockstep run`");
  result.localRank = static_cast<int>(
      reader.optionalNumber({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0, kMost)
          .value_or(result.rank));
  const auto traceFd = reader.optionalNumber({"LOCKSTEP_TRACE_FD"}, 0, kMost);
  const auto experimentFd = reader.optionalNumber({"LOCKSTEP_EXPERIMENT_FD"}, 0, kMost);
  if (!reader.ok()) {
    return reader.error();
  }
  if (traceFd) {
    result.traceFd = static_cast<int>(*traceFd);
  }
  if (experimentFd) {
    result.experimentFd = static_cast<int>(*experimentFd);
  }
  return result;
}

}  // namespace lockstep::train

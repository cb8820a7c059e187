#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/base/Result.h"

namespace lockstep::train {

/// What the environment tells a rank: torchrun's contract (RANK, WORLD_SIZE, LOCAL_RANK,
/// MASTER_ADDR, MASTER_PORT, TORCHELASTIC_USE_AGENT_STORE, TORCHELASTIC_RESTART_COUNT) and the
/// supervisor's (LOCKSTEP_TRACE_FD, LOCKSTEP_EXPERIMENT_FD, LOCKSTEP_SUPERVISOR_PID).
struct TorchrunEnvironment {
  int rank = 0;
  int worldSize = 1;
  int localRank = 0;  ///< LOCAL_RANK, or RANK when that is not set
  std::string masterAddress;
  /// Of the store: MASTER_PORT, or the next one where torchrun's agent serves its own there.
  std::uint16_t storePort = 0;
  bool hostsStore = false;  ///< rank 0, unless the supervisor does
  int attempt = 0;          ///< TORCHELASTIC_RESTART_COUNT
  std::optional<int> traceFd;
  std::optional<int> experimentFd;
  std::optional<std::int64_t> supervisorPid;
};

using ReadVariable = std::function<std::optional<std::string>(const char* name)>;

/// Reads this process' environment.
std::optional<std::string> readEnvironmentVariable(const char* name);

/// Where RANK, WORLD_SIZE and LOCAL_RANK are not set, those of Open MPI and Slurm are taken.
/// Error (kBadInput): the first variable that is missing, no whole number or out of range.
base::Result<TorchrunEnvironment> torchrunEnvironment(
    const ReadVariable& read = readEnvironmentVariable);

}  // namespace lockstep::train

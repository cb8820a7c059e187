#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/Environment.h"

namespace lockstep::store {

/// What the environment says about meeting the other ranks: torchrun's RANK, WORLD_SIZE,
/// MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT and
/// TORCHELASTIC_USE_AGENT_STORE, and the supervisor's LOCKSTEP_SUPERVISOR_PID and
/// LOCKSTEP_STORE_TOKEN.
struct RendezvousEnvironment {
  int rank = 0;
  int worldSize = 1;
  std::string masterAddress;
  /// Of the store: MASTER_PORT, or the next one where torchrun's agent serves its own there.
  std::uint16_t storePort = 0;
  bool hostsStore = false;  ///< rank 0, unless the supervisor does
  int attempt = 0;          ///< TORCHELASTIC_RESTART_COUNT
  std::string runId;        ///< TORCHELASTIC_RUN_ID, or ""
  std::optional<std::int64_t> supervisorPid;
  std::string storeToken;  ///< LOCKSTEP_STORE_TOKEN, or "": TCPStoreOptions::token
};

/// Reads them; a rank or world size that is given here is not looked up. Where RANK and
/// WORLD_SIZE are not set, those of Open MPI and Slurm are taken.
/// Error (kBadInput): the first variable that is missing, no whole number or out of range.
base::Result<RendezvousEnvironment> rendezvousEnvironment(
    const base::ReadVariable& read = base::readEnvironmentVariable, std::optional<int> rank = {},
    std::optional<int> worldSize = {});

/// Names a job so that a restart of it has another name: the run id, and which attempt it is.
std::string jobName(const std::string& runId, int attempt);

/// The same from TORCHELASTIC_RUN_ID and TORCHELASTIC_RESTART_COUNT; "" where they are not set.
base::Result<std::string> jobNameFromEnvironment(const base::ReadVariable& read);

}  // namespace lockstep::store

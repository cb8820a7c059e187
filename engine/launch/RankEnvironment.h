#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::launch {

/// Descriptors that a rank finds open beside stdin, stdout and stderr.
inline constexpr int kTraceFd = 3;       ///< its event memory (trace/Segment.h)
inline constexpr int kExperimentFd = 4;  ///< the resolved experiment as TOML, read from the start

// Where a relay finds the recorder that it reports to (Join.h).
inline const std::string kRecorderVariable = "LOCKSTEP_RECORDER";
inline const std::string kTokenVariable = "LOCKSTEP_RUN_TOKEN";

/// What the environment of one rank says.
struct RankPlace {
  int rank = 0;
  int worldSize = 1;
  int localRank = -1;       ///< -1: `rank`
  int localWorldSize = -1;  ///< -1: `worldSize`
  int hostRank = 0;         ///< torchrun's GROUP_RANK
  int hosts = 1;
  std::string masterAddress = "127.0.0.1";
  std::uint16_t masterPort = 0;
  std::string runId;
  std::string storeToken;  ///< TCPStoreOptions::token
  int threads = 1;
  std::int64_t supervisorPid = 0;
  /// Where the other hosts reach this one; empty: all ranks are on this host.
  std::string ownAddress;
};

/// Returns `inherited` ("KEY=value" texts) with torchrun's variables for a worker set: RANK,
/// WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, ROLE_RANK, ROLE_WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT, TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_MAX_RESTARTS, TORCHELASTIC_RUN_ID,
/// TORCHELASTIC_USE_AGENT_STORE (the supervisor hosts the store), OMP_NUM_THREADS; and with
/// LOCKSTEP_TRACE_FD, LOCKSTEP_EXPERIMENT_FD, LOCKSTEP_SUPERVISOR_PID and LOCKSTEP_STORE_TOKEN;
/// and, where other hosts take part and nobody has set it, GLOO_SOCKET_IFNAME to `ownAddress`. What
/// was inherited under one of these names is gone, the recorder's address and its token too, which
/// are not a rank's. Source: torch/distributed/run.py's documentation.
std::vector<std::string> rankEnvironment(const RankPlace& place,
                                         const std::vector<std::string>& inherited);

/// Returns the program a rank runs: $LOCKSTEP_RANK when set, else `lockstep-rank` beside this
/// executable. Error (kEnvironment): it is missing or cannot be executed.
base::Result<std::filesystem::path> findRankProgram();

}  // namespace lockstep::launch

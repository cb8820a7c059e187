#include "engine/store/RendezvousEnvironment.h"

#include <fmt/format.h>

#include <limits>

namespace lockstep::store {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();
constexpr const char* kWhoSetsThem = "start ranks with `lockstep run`, torchrun, mpirun or srun";

int readAttempt(base::EnvironmentReader& reader) {
  return static_cast<int>(
      reader.optionalNumber({"TORCHELASTIC_RESTART_COUNT"}, 0, kMost).value_or(0));
}

}  // namespace

base::Result<RendezvousEnvironment> rendezvousEnvironment(const base::ReadVariable& read,
                                                          std::optional<int> rank,
                                                          std::optional<int> worldSize) {
  base::EnvironmentReader reader(read, kWhoSetsThem);
  RendezvousEnvironment result;
  result.rank = rank ? *rank
                     : static_cast<int>(reader.number(
                           {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0, kMost));
  result.worldSize = worldSize
                         ? *worldSize
                         : static_cast<int>(reader.number(
                               {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1, kMost));
  if (reader.ok() && result.rank >= result.worldSize) {
    reader.fail(fmt::format("is {}, but WORLD_SIZE is {}: ranks count from 0", result.rank,
                            result.worldSize),
                "RANK");
  }
  result.masterAddress = reader.text("MASTER_ADDR");
  const auto masterPort = reader.number({"MASTER_PORT"}, 1, 65535);
  result.attempt = readAttempt(reader);
  result.runId = read("TORCHELASTIC_RUN_ID").value_or("");
  result.storeToken = read("LOCKSTEP_STORE_TOKEN").value_or("");
  result.supervisorPid = reader.optionalNumber({"LOCKSTEP_SUPERVISOR_PID"}, 1, kMost);
  // torchrun's agent serves a store of PyTorch's protocol on MASTER_PORT; ours stands beside it.
  const bool agentHostsStore = read("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  // Our own supervisor sets the variable, too, but what it serves is a store of ours.
  const bool besideAgent = agentHostsStore && !result.supervisorPid;
  if (besideAgent && masterPort == 65535) {
    reader.fail("is 65535, and Lockstep's store needs the next port; choose a lower one",
                "MASTER_PORT");
  }
  result.storePort = static_cast<std::uint16_t>(masterPort + (besideAgent ? 1 : 0));
  result.hostsStore = result.rank == 0 && (!agentHostsStore || besideAgent);
  return reader.ok() ? base::Result<RendezvousEnvironment>(result)
                     : base::Result<RendezvousEnvironment>(reader.error());
}

std::string jobName(const std::string& runId, int attempt) {
  return attempt == 0 ? runId : fmt::format("{} (restart {})", runId, attempt);
}

base::Result<std::string> jobNameFromEnvironment(const base::ReadVariable& read) {
  base::EnvironmentReader reader(read, kWhoSetsThem);
  const int attempt = readAttempt(reader);
  if (!reader.ok()) {
    return reader.error();
  }
  return jobName(read("TORCHELASTIC_RUN_ID").value_or(""), attempt);
}

}  // namespace lockstep::store

#include "engine/launch/RankEnvironment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "engine/base/ShippedFiles.h"
#include "engine/base/Try.h"

namespace lockstep::launch {

std::vector<std::string> rankEnvironment(const RankPlace& place,
                                         const std::vector<std::string>& inherited) {
  const std::string rank = std::to_string(place.rank);
  const std::string worldSize = std::to_string(place.worldSize);
  const int localRank = place.localRank >= 0 ? place.localRank : place.rank;
  const int localWorldSize = place.localWorldSize >= 0 ? place.localWorldSize : place.worldSize;
  std::vector<std::pair<std::string, std::string>> ours{
      {"RANK", rank},
      {"WORLD_SIZE", worldSize},
      {"LOCAL_RANK", std::to_string(localRank)},
      {"LOCAL_WORLD_SIZE", std::to_string(localWorldSize)},
      {"GROUP_RANK", std::to_string(place.hostRank)},
      {"GROUP_WORLD_SIZE", std::to_string(place.hosts)},
      {"ROLE_RANK", rank},
      {"ROLE_WORLD_SIZE", worldSize},
      {"MASTER_ADDR", place.masterAddress},
      {"MASTER_PORT", std::to_string(place.masterPort)},
      {"TORCHELASTIC_RESTART_COUNT", "0"},
      {"TORCHELASTIC_MAX_RESTARTS", "0"},
      {"TORCHELASTIC_RUN_ID", place.runId},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"OMP_NUM_THREADS", std::to_string(place.threads)},
      {"LOCKSTEP_TRACE_FD", std::to_string(kTraceFd)},
      {"LOCKSTEP_EXPERIMENT_FD", std::to_string(kExperimentFd)},
      {"LOCKSTEP_SUPERVISOR_PID", std::to_string(place.supervisorPid)},
      {"LOCKSTEP_STORE_TOKEN", place.storeToken},
  };
  const auto nameOf = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  // Gloo looks for this host's address by its name, which may stand for the loopback in /etc/hosts.
  if (!place.ownAddress.empty() &&
      std::none_of(inherited.begin(), inherited.end(), [&](const std::string& entry) {
        return nameOf(entry) == "GLOO_SOCKET_IFNAME";
      })) {
    ours.emplace_back("GLOO_SOCKET_IFNAME", place.ownAddress);
  }
  std::vector<std::string> result;
  for (const auto& entry : inherited) {
    const std::string name = nameOf(entry);
    if (name != kRecorderVariable && name != kTokenVariable &&
        std::none_of(ours.begin(), ours.end(),
                     [&](const auto& own) { return own.first == name; })) {
      result.push_back(entry);
    }
  }
  for (const auto& [name, value] : ours) {
    result.push_back(fmt::format("{}={}", name, value));
  }
  return result;
}

base::Result<std::filesystem::path> findRankProgram() {
  std::filesystem::path program;
  std::string advice;
  if (const char* chosen = std::getenv("LOCKSTEP_RANK"); chosen != nullptr && *chosen != '\0') {
    program = chosen;
    advice = "LOCKSTEP_RANK must name the program that trains one rank";
  } else {
    const auto self = LOCKSTEP_TRY(base::programFile());
    program = self.parent_path() / "lockstep-rank";
    advice = "build it (LOCKSTEP_WITH_ENGINE=ON), or let LOCKSTEP_RANK name it";
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(program, error) || access(program.c_str(), X_OK) != 0) {
    return base::Error{base::ExitCode::kEnvironment,
                       "no program to execute here, and ranks need it; " + advice,
                       program.string()};
  }
  return std::filesystem::absolute(program);
}

}  // namespace lockstep::launch

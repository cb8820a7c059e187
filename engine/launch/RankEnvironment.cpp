#include "engine/launch/RankEnvironment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace lockstep::launch {

std::vector<std::string> rankEnvironment(const RankPlace& place,
                                         const std::vector<std::string>& inherited) {
  const std::string rank = std::to_string(place.rank);
  const std::string worldSize = std::to_string(place.worldSize);
  const std::vector<std::pair<std::string, std::string>> ours{
      {"RANK", rank},
      {"WORLD_SIZE", worldSize},
      {"LOCAL_RANK", rank},
      {"LOCAL_WORLD_SIZE", worldSize},
      {"GROUP_RANK", "0"},
      {"GROUP_WORLD_SIZE", "1"},
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
  };
  std::vector<std::string> result;
  for (const auto& entry : inherited) {
    const std::string name = entry.substr(0, entry.find('='));
    if (std::none_of(ours.begin(), ours.end(), [&](const auto& own) { return own.first == name; })) {
      result.push_back(entry);
    }
  }
  for (const auto& [name, value] : ours) {
    result.push_back(fmt::format("{}={}", name, value));
  }
  return result;
}

std::vector<std::string> inheritedEnvironment() {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    result.emplace_back(*entry);
  }
  return result;
}

}  // namespace lockstep::launch

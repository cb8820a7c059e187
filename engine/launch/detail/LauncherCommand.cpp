#include "engine/launch/detail/LauncherCommand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/NumberText.h"
#include "engine/launch/RankEnvironment.h"

namespace lockstep::launch::detail {
namespace {

int ranksPerNode(const experiment::LaunchConfig& launch, int worldSize) {
  return launch.ranksPerNode > 0 ? launch.ranksPerNode : worldSize / launch.nnodes;
}

bool mentions(const std::vector<std::string>& arguments, const std::string& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    // "--map-by", "-map-by" and "--map-by=..." alike: who says it has the last word.
    return argument.find(option) != std::string::npos;
  });
}

}  // namespace

std::vector<std::string> launcherCommand(const experiment::LaunchConfig& launch, int worldSize,
                                         const std::filesystem::path& program) {
  const int perNode = ranksPerNode(launch, worldSize);
  std::vector<std::string> command;
  const auto add = [&](const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
  };
  // Nothing is bound: a rank has threads beside the one that trains, and processes.pinning says
  // where it runs.
  if (launch.launcher == "mpirun") {
    add({"mpirun", "-np", std::to_string(worldSize)});
    if (launch.nnodes > 1 && !mentions(launch.arguments, "map-by")) {
      add({"--map-by", fmt::format("ppr:{}:node", perNode)});
    }
    if (!mentions(launch.arguments, "bind-to")) {
      add({"--bind-to", "none"});
    }
    add({"-x", kRecorderVariable, "-x", kTokenVariable});
  } else {
    // Relays stay until the run has ended; one that ends early is the head's business.
    add({"srun", fmt::format("--nodes={}", launch.nnodes), fmt::format("--ntasks={}", worldSize),
         fmt::format("--ntasks-per-node={}", perNode), "--kill-on-bad-exit=0"});
    if (!mentions(launch.arguments, "cpu-bind")) {
      add({"--cpu-bind=none"});
    }
  }
  add(launch.arguments);
  add({program.string(), "join"});
  return command;
}

std::vector<std::string> launcherEnvironment(const relay::Ticket& ticket,
                                             std::vector<std::string> inherited) {
  const std::set<std::string> names{kRecorderVariable, kTokenVariable, "RANK",
                                    "WORLD_SIZE",      "LOCAL_RANK",   "LOCAL_WORLD_SIZE"};
  std::erase_if(inherited, [&](const std::string& entry) {
    return names.contains(entry.substr(0, entry.find('=')));
  });
  inherited.push_back(kRecorderVariable + "=" + ticket.recorder);
  inherited.push_back(kTokenVariable + "=" + relay::toText(ticket.token));
  return inherited;
}

std::vector<std::string> joinAdvice(const experiment::LaunchConfig& launch, int worldSize,
                                    const std::string& recorder,
                                    const std::filesystem::path& ticketFile,
                                    const std::filesystem::path& program) {
  const int perNode = ranksPerNode(launch, worldSize);
  const std::string file = ticketFile.string();
  return {
      fmt::format("waiting at {} for {} ranks, {} on each of {}; the run token is in {}, copy "
                  "it to the other hosts",
                  recorder, worldSize, perNode,
                  base::countedText(static_cast<std::uint64_t>(launch.nnodes), "host"), file),
      fmt::format("on each host N from 0 to {}: {} join --token-file {} --node-rank N",
                  launch.nnodes - 1, program.string(), file),
      fmt::format("or: torchrun --nnodes {} --nproc-per-node {} --no-python ... {} join "
                  "--token-file {}",
                  launch.nnodes, perNode, program.string(), file),
  };
}

}  // namespace lockstep::launch::detail

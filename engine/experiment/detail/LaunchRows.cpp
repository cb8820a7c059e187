#include "engine/experiment/detail/Table.h"

namespace lockstep::experiment::detail {

void addLaunch(Table& table) {
  using L = LaunchConfig;
  const std::string elsewhere = "launch.launcher=mpirun,srun,external";
  table.add("launch.launcher", at<&E::launch, &L::launcher>(), "Launcher",
            "Starts the ranks: this host's supervisor, mpirun, srun, or somebody else (torchrun, "
            "or by hand).",
            {.choices = {"local", "mpirun", "srun", "external"}});
  table.add("launch.nnodes", at<&E::launch, &L::nnodes>(), "Hosts",
            "Hosts that the ranks are spread over.",
            {.unit = "hosts", .from = 1, .to = 64, .onlyFor = elsewhere});
  table.add("launch.ranks_per_node", at<&E::launch, &L::ranksPerNode>(), "Ranks a host",
            "0 takes processes.world_size / launch.nnodes.",
            {.unit = "ranks", .from = 0, .to = 64, .onlyFor = elsewhere});
  table.add("launch.arguments", at<&E::launch, &L::arguments>(), "Launcher's arguments",
            "Handed to mpirun or srun before the program, such as --hostfile.",
            {.onlyFor = "launch.launcher=mpirun,srun"});
  table.add(
      "launch.listen", at<&E::launch, &L::listen>(), "Recorder's address",
      "ADDRESS[:PORT] of this host at which the other hosts reach the recorder; empty takes this "
      "host's first address, or the loopback for mpirun on this host alone, and any free port.",
      {.onlyFor = elsewhere});
  table.add("launch.join_seconds", at<&E::launch, &L::joinSeconds>(), "Time to join",
            "For all ranks to be started, a scheduler's queue included.",
            {.unit = "s", .above = 0, .to = 86'400, .onlyFor = elsewhere, .advanced = true});
  table.add("launch.lost_after_seconds", at<&E::launch, &L::lostAfterSeconds>(), "Lost after",
            "Silence of a host after which its ranks count as lost.",
            {.unit = "s", .from = 2, .to = 86'400, .onlyFor = elsewhere, .advanced = true});
}

}  // namespace lockstep::experiment::detail

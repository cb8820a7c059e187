// The rows of [processes] and [link]: which processes there are, and what lies between them.

#include "engine/experiment/LinkPresets.h"
#include "engine/experiment/detail/Table.h"

namespace lockstep::experiment::detail {
namespace {

std::vector<std::string> presetNames() {
  std::vector<std::string> names{"none"};
  for (const LinkPreset& preset : linkPresets()) {
    names.push_back(preset.name);
  }
  return names;
}

}  // namespace

void addProcesses(Table& table) {
  using P = ProcessesConfig;
  table.add("processes.world_size", at<&E::processes, &P::worldSize>(), "Ranks",
            "Number of rank processes.", {.unit = "ranks", .from = 1, .to = 1024});
  table.add("processes.strategy", at<&E::processes, &P::strategy>(), "Strategy",
            "A process a rank, or one process with a replica a device, the way that is slow.",
            {.choices = {"ddp", "data_parallel"}});
  table.add(
      "processes.devices", at<&E::processes, &P::devices>(), "Devices",
      "Virtual devices of the one process; each gets data.batch_size samples a step.",
      {.unit = "devices", .from = 1, .to = 64, .onlyFor = "processes.strategy=data_parallel"});
  table.add("processes.device", at<&E::processes, &P::device>(), "Device",
            "What the ranks compute on. With cuda each takes the GPU of its local rank, and its "
            "tensors there go over NCCL; the backend carries the rest.",
            {.choices = {"cpu", "cuda"}, .onlyFor = "processes.strategy=ddp"});
  table.add("processes.backend", at<&E::processes, &P::backend>(), "Backend",
            "Carries the collectives: gloo over TCP, shared memory among the ranks of one host, "
            "both by hierarchy; auto takes what suits the hosts. mpi needs ranks that mpirun or "
            "srun has started. NCCL comes with the device cuda.",
            {.choices = {"auto", "gloo", "shared_memory", "hierarchical", "mpi"}});
  table.add("processes.hosts", at<&E::processes, &P::hosts>(), "Made-up hosts",
            "Cuts the ranks into as many blocks that meet as if each were a host of its own; 0 "
            "takes the hosts as they are.",
            {.unit = "hosts",
             .from = 0,
             .to = 64,
             .onlyFor = "processes.backend=auto,hierarchical",
             .advanced = true});
  table.add("processes.threads_per_rank", at<&E::processes, &P::threadsPerRank>(), "Threads a rank",
            "Threads libtorch computes one operator with.",
            {.unit = "threads", .from = 1, .to = 256});
  table.add("processes.pinning", at<&E::processes, &P::pinning>(), "Pinning",
            "With cores, rank r runs on threads_per_rank cores of its own.",
            {.choices = {"none", "cores"}});
  table.add("processes.interface", at<&E::processes, &P::interface>(), "Network interface",
            "Interface of the collectives; empty takes the loopback.", {.advanced = true});
  table.add("processes.master_port", at<&E::processes, &P::masterPort>(), "Rendezvous port",
            "Port of the store; 0 takes any free one.",
            {.from = 0, .to = 65'535, .advanced = true});
  table.add("processes.checked", at<&E::processes, &P::checked>(), "Checked collectives",
            "Compares each collective across ranks before its data moves: in the first steps, "
            "always, or never.",
            {.choices = {"off", "first", "always"}, .advanced = true});
  table.add("processes.round_robin", at<&E::processes, &P::roundRobin>(), "Round robin",
            "Groups that take turns, collective by collective.",
            {.unit = "groups", .from = 1, .to = 64, .advanced = true});
  table.add("processes.timeout_seconds", at<&E::processes, &P::timeoutSeconds>(), "Time limit",
            "Limit of each collective and of the rendezvous.",
            {.unit = "s", .above = 0, .to = 86'400, .advanced = true});
}

void addLink(Table& table) {
  using L = LinkConfig;
  table.add("link.preset", at<&E::link, &L::preset>(), "Link preset",
            "A measured network that the collectives are slowed down to; none: by the bandwidth "
            "and latency that are given.",
            {.choices = presetNames()});
  table.add("link.bandwidth_gbps", at<&E::link, &L::bandwidthGbps>(), "Link bandwidth",
            "Of each rank's link, each way; 0 leaves it as fast as the backend.",
            {.unit = "Gbit/s", .from = 0, .to = 100'000, .onlyFor = "link.preset=none"});
  table.add("link.latency_us", at<&E::link, &L::latencyUs>(), "Link latency",
            "Of each message; a ring of n ranks sends 2 (n - 1) for an allreduce.",
            {.unit = "µs", .from = 0, .to = 10'000'000, .onlyFor = "link.preset=none"});
  table.add("link.jitter_us", at<&E::link, &L::jitterUs>(), "Link jitter",
            "Each operation takes up to this much longer, the same on all ranks.",
            {.unit = "µs", .from = 0, .to = 10'000'000});
  table.add("link.in_flight", at<&E::link, &L::inFlight>(), "In flight",
            "Collectives of one group that travel at once: 1 as on an NCCL stream, 2 as with "
            "c10d's Gloo; 0 is without limit.",
            {.from = 0, .to = 64, .advanced = true});
  table.add("link.ranks_per_node", at<&E::link, &L::ranksPerNode>(), "Ranks a node",
            "The link is between nodes of so many ranks.",
            {.unit = "ranks", .from = 1, .to = 64, .advanced = true});
  table.add("link.inside_bandwidth_gbps", at<&E::link, &L::insideBandwidthGbps>(),
            "Bandwidth inside a node",
            "Between ranks of one node; 0 leaves it as fast as the backend.",
            {.unit = "Gbit/s", .from = 0, .to = 100'000, .advanced = true});
  table.add("link.inside_latency_us", at<&E::link, &L::insideLatencyUs>(), "Latency inside a node",
            "Of each message between ranks of one node.",
            {.unit = "µs", .from = 0, .to = 10'000'000, .advanced = true});
  table.add("link.slow_ranks", at<&E::link, &L::slowRanks>(), "Slow ranks",
            "Ranks whose links to all others are worse.", {.from = 0, .to = 63, .advanced = true});
  table.add("link.slow_among", at<&E::link, &L::slowAmong>(), "Slow pairs",
            "Only links between two of link.slow_ranks are worse.", {.advanced = true});
  table.add("link.slow_bandwidth_gbps", at<&E::link, &L::slowBandwidthGbps>(),
            "Bandwidth of slow ranks", "Of the links of link.slow_ranks.",
            {.unit = "Gbit/s", .from = 0, .to = 100'000, .advanced = true});
  table.add("link.slow_latency_us", at<&E::link, &L::slowLatencyUs>(), "Latency of slow ranks",
            "Of the links of link.slow_ranks.",
            {.unit = "µs", .from = 0, .to = 10'000'000, .advanced = true});
  table.add("link.seed", at<&E::link, &L::seed>(), "Link seed",
            "Of the jitter; equal seeds draw equal jitter.",
            {.from = 0, .to = 4'294'967'295.0, .advanced = true});
  table.add("link.simulate_anyway", at<&E::link, &L::simulateAnyway>(), "Simulate anyway",
            "Takes a link that the backend is hardly faster than; the run is a simulation then and "
            "no measurement.",
            {.advanced = true});
}

}  // namespace lockstep::experiment::detail

#include "engine/process_group/mpi/Meeting.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "engine/base/Try.h"
#include "engine/process_group/Call.h"

namespace lockstep::process_group::mpi {
namespace {

using base::Error;
using base::ExitCode;
using base::Result;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Tags of communicators that are being made; every MPI has them.
constexpr std::uint64_t kTags = 32'000;

Error notLaunched(const Joiner& joiner) {
  // srun starts processes for MPI only when it is told which way they are to find each other.
  const std::string remedy =
      std::getenv("SLURM_PROCID") != nullptr
          ? "srun has told this one nothing of the others; give srun --mpi=pmix (lockstep run: "
            "--launcher-arg=--mpi=pmix), or what `srun --mpi=list` names for this MPI"
          : fmt::format(
                "this one was started alone; start the ranks with mpirun or srun "
                "(mpirun -n {} lockstep-rank FILE)",
                joiner.size);
  return Error{ExitCode::kEnvironment,
               fmt::format("the mpi backend needs {} processes that know each other through MPI, "
                           "and {}",
                           joiner.size, remedy),
               fmt::format("rank {}, group {}", joiner.rank, joiner.group)};
}

// Which process of MPI's world each rank is, from what they have written.
Result<std::vector<int>> worldRanks(store::Store& store,
                                    const std::function<std::string(int)>& keyOf,
                                    const Joiner& joiner) {
  std::vector<int> ranks;
  std::map<int, int> owners;
  // Two ranks on one process of MPI would send to themselves.
  for (int rank = 0; rank < joiner.size; ++rank) {
    ranks.push_back(std::atoi(store.get(keyOf(rank)).c_str()));
    const auto [other, isNew] = owners.emplace(ranks.back(), rank);
    if (!isNew) {
      return joiner.failed(
          fmt::format("ranks {} and {} are both process {} of MPI_COMM_WORLD; the "
                      "mpi backend needs a process for each rank, all started by "
                      "one mpirun or srun",
                      other->second, rank, ranks.back()));
    }
  }
  return ranks;
}

// Collective over the members alone: the other processes of MPI's world need not come.
void createCommunicators(const std::vector<int>& ranks, int tag, Connected& connected) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &members),
        "MPI_Group_incl");
  check(MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, &connected.comm),
        "MPI_Comm_create_group");
  MPI_Group_free(&members);
  MPI_Group_free(&world);
  check(MPI_Comm_set_errhandler(connected.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  // Barriers have a communicator of their own: they are posted when all before them have ended
  // here, which may be another place among the collectives on each rank.
  check(MPI_Comm_dup(connected.comm, &connected.barriers), "MPI_Comm_dup");
}

}  // namespace

Result<Connected> connect(store::Store& store, const Joiner& joiner) {
  const auto begin = Clock::now();
  const auto left = [&] {
    const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    return std::max(joiner.timeout - passed, milliseconds(1));
  };
  const auto key = [&](const char* stage) {
    return [&joiner, stage](int rank) {
      return fmt::format("mpi/{}/{}/{}", joiner.group, stage, rank);
    };
  };
  if (joiner.size > 1 && Runtime::launcherVariable() == nullptr) {
    return notLaunched(joiner);
  }
  try {
    // MPI_Init waits for all, so those that are missing must be known before.
    LOCKSTEP_TRY(meet(store, key("joined"), "join", joiner));
    Connected connected;
    if (joiner.size == 1) {
      return connected;
    }
    const auto runtime = Runtime::start(left());
    if (!runtime.ok()) {
      return runtime.error().within(fmt::format("rank {}, group {}", joiner.rank, joiner.group));
    }
    connected.runtime = runtime.value();
    if (connected.runtime->worldSize() < joiner.size) {
      return joiner.failed(
          fmt::format("the group has {} ranks, and MPI_COMM_WORLD {}; start as "
                      "many with one mpirun or srun",
                      joiner.size,
                      connected.runtime->worldSize() == 1
                          ? std::string("only this process")
                          : fmt::format("{} processes", connected.runtime->worldSize())));
    }
    store.set(key("world")(joiner.rank), fmt::format("{}", connected.runtime->worldRank()));
    Joiner rest = joiner;
    rest.timeout = left();
    LOCKSTEP_TRY(awaitRanks(store, key("world"), "start MPI", rest));
    const auto ranks = LOCKSTEP_TRY(worldRanks(store, key("world"), joiner));
    std::uint64_t hash = 0;
    // The tag keeps groups apart that several threads make at the same time.
    for (const char letter : joiner.group) {
      hash = mix(hash, static_cast<std::uint64_t>(static_cast<unsigned char>(letter)));
    }
    // The task may outlive this call.
    auto made = std::make_shared<Connected>(connected);
    const base::Status created = connected.runtime->run(
        [made, ranks = ranks, tag = static_cast<int>(hash % kTags)] {
          createCommunicators(ranks, tag, *made);
        },
        "MPI_Comm_create_group", left());
    if (!created.ok()) {
      return joiner.failed(created.error().what);
    }
    return *made;
  } catch (const store::StoreError& error) {
    return joiner.failed(fmt::format("cannot meet the other ranks: {}", error.what()));
  }
}

}  // namespace lockstep::process_group::mpi

#include "engine/launch/Join.h"

#include "engine/base/Try.h"
#include "engine/launch/RankEnvironment.h"
#include "engine/launch/detail/JobRelay.h"
#include "engine/launch/detail/Relay.h"

namespace lockstep::launch {
namespace {

using base::Error;
using base::ExitCode;

constexpr int kMost = 1 << 20;
constexpr const char* kWhoSetsThem =
    "start relays with mpirun, srun or torchrun, or say --node-rank";

/// The variables by which a launcher tells a process its place.
struct PlaceVariables {
  const char* rank;
  const char* worldSize;
  const char* localRank;
  const char* localWorldSize;
};

constexpr PlaceVariables kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr PlaceVariables kOpenMpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr PlaceVariables kSlurm{"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",
                                "SLURM_NTASKS_PER_NODE"};

/// Those of whoever started this process: torchrun starts it inside what mpirun or srun started,
/// and mpirun inside an allocation of Slurm.
const PlaceVariables& placeVariables(const base::ReadVariable& read) {
  for (const PlaceVariables* variables : {&kTorchrun, &kOpenMpi, &kSlurm}) {
    if (read(variables->rank)) {
      return *variables;
    }
  }
  return kTorchrun;
}

}  // namespace

base::Result<RelayPlace> relayPlaceFromEnvironment(const base::ReadVariable& read) {
  base::EnvironmentReader reader(read, kWhoSetsThem);
  const PlaceVariables& variables = placeVariables(read);
  RelayPlace place;
  place.variable = variables.rank;
  place.ranks = {static_cast<int>(reader.number({variables.rank}, 0, kMost))};
  const auto optional = [&](const char* name, int lowest) {
    const auto number = reader.optionalNumber({name}, lowest, kMost);
    return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
  };
  place.worldSize = optional(variables.worldSize, 1);
  place.localRank = optional(variables.localRank, 0);
  place.localWorldSize = optional(variables.localWorldSize, 1);
  return reader.ok() ? base::Result<RelayPlace>(std::move(place))
                     : base::Result<RelayPlace>(reader.error());
}

base::Result<relay::Ticket> ticketFromEnvironment(const base::ReadVariable& read) {
  const auto recorder = read(kRecorderVariable.c_str());
  const auto token = read(kTokenVariable.c_str());
  if (!recorder || !token) {
    return Error{
        ExitCode::kBadInput,
        fmt::format("is not set; the head of a run gives it to mpirun and srun; otherwise say "
                    "--token-file FILE, the file that it names"),
        "environment " + (recorder ? kTokenVariable : kRecorderVariable)};
  }
  const auto known = LOCKSTEP_TRY(relay::tokenFromText(*token, "environment " + kTokenVariable));
  return relay::Ticket{*recorder, known, "environment " + kRecorderVariable};
}

base::Result<ExitCode> joinRun(const JoinOptions& options) {
  std::filesystem::path program = options.rankProgram;
  if (program.empty()) {
    program = LOCKSTEP_TRY(findRankProgram());
  }
  const auto connection = LOCKSTEP_TRY(detail::connectToHead(options.ticket));
  return detail::Relay(options, std::move(program), *connection).run();
}

base::Result<JoinedJob> joinJob(const JoinJobOptions& options) {
  const auto connection = LOCKSTEP_TRY(detail::connectToHead(options.ticket));
  return detail::JobRelay(options, *connection).run();
}

}  // namespace lockstep::launch

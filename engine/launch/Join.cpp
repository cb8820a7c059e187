#include "engine/launch/Join.h"

#include "engine/launch/RankEnvironment.h"
#include "engine/launch/RankProgram.h"
#include "engine/launch/detail/Relay.h"

namespace lockstep::launch {
namespace {

using base::Error;
using base::ExitCode;

constexpr int kMost = 1 << 20;
constexpr const char* kWhoSetsThem =
    "start relays with mpirun, srun or torchrun, or say --node-rank";

}  // namespace

base::Result<RelayPlace> relayPlaceFromEnvironment(const base::ReadVariable& read) {
  base::EnvironmentReader reader(read, kWhoSetsThem);
  RelayPlace place;
  place.ranks = {
      static_cast<int>(reader.number({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0, kMost))};
  const auto optional = [&](std::initializer_list<const char*> names, int lowest) {
    const auto number = reader.optionalNumber(names, lowest, kMost);
    return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
  };
  place.worldSize = optional({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1);
  place.localRank = optional({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0);
  place.localWorldSize =
      optional({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}, 1);
  return reader.ok() ? base::Result<RelayPlace>(std::move(place))
                     : base::Result<RelayPlace>(reader.error());
}

base::Result<relay::Ticket> ticketFromEnvironment(const base::ReadVariable& read) {
  const auto recorder = read(kRecorderVariable.c_str());
  const auto token = read(kTokenVariable.c_str());
  if (!recorder || !token) {
    return Error{
        ExitCode::kBadInput,
        fmt::format("is not set; `lockstep run` gives it to mpirun and srun; otherwise say "
                    "--token-file FILE, the file that it names"),
        "environment " + (recorder ? kTokenVariable : kRecorderVariable)};
  }
  const auto parsed = relay::tokenFromText(*token, "environment " + kTokenVariable);
  if (!parsed.ok()) {
    return parsed.error();
  }
  return relay::Ticket{*recorder, parsed.value()};
}

base::Result<ExitCode> joinRun(const JoinOptions& options) {
  if (auto encrypted = relay::encryptionAvailable(); !encrypted.ok()) {
    return encrypted.error();
  }
  std::filesystem::path program = options.rankProgram;
  if (program.empty()) {
    auto found = findRankProgram();
    if (!found.ok()) {
      return found.error();
    }
    program = std::move(found).value();
  }
  const auto endpoint = relay::endpointOf(options.ticket.recorder);
  if (!endpoint.ok()) {
    return endpoint.error().within("environment " + kRecorderVariable);
  }
  auto loop = EventLoop::create();
  if (!loop.ok()) {
    return loop.error();
  }
  // From here on every thread that starts has the signals blocked.
  auto signals = SignalQueue::create();
  if (!signals.ok()) {
    return signals.error();
  }
  auto client = relay::RelayClient::connect(options.ticket);
  if (!client.ok()) {
    return client.error();
  }
  return detail::Relay(options, std::move(program), endpoint.value(), *signals.value(),
                       loop.value(), *client.value())
      .run();
}

}  // namespace lockstep::launch

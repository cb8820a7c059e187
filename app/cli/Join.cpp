#include "engine/launch/Join.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/Commands.h"
#include "app/cli/Complaint.h"

namespace lockstep::cli {
namespace {

struct JoinArguments {
  std::string recorder;
  std::string tokenFile;
  int nodeRank = -1;
  int ranksPerNode = 0;
  double waitSeconds = 60;
};

#ifdef LOCKSTEP_WITH_RELAY

using base::Error;
using base::ExitCode;

base::Result<relay::Ticket> ticketOf(const JoinArguments& arguments) {
  auto ticket = arguments.tokenFile.empty() ? launch::ticketFromEnvironment()
                                            : relay::readTicket(arguments.tokenFile);
  if (ticket.ok() && !arguments.recorder.empty()) {
    ticket.value().recorder = arguments.recorder;
    ticket.value().recorderFrom = "--recorder";
  }
  return ticket;
}

base::Result<launch::RelayPlace> placeOf(const JoinArguments& arguments) {
  if (arguments.nodeRank < 0) {
    if (arguments.ranksPerNode > 0) {
      return Error{ExitCode::kBadInput, "needs --node-rank, the number of this host",
                   "--nproc-per-node"};
    }
    return launch::relayPlaceFromEnvironment();
  }
  launch::RelayPlace place;
  place.nodeRank = arguments.nodeRank;
  place.nodeSize = arguments.ranksPerNode;
  return place;
}

int join(const JoinArguments& arguments) {
  launch::JoinOptions options;
  auto ticket = ticketOf(arguments);
  if (!ticket.ok()) {
    return fail(ticket.error());
  }
  options.ticket = std::move(ticket).value();
  auto place = placeOf(arguments);
  if (!place.ok()) {
    return fail(place.error());
  }
  options.place = std::move(place).value();
  options.patience = std::chrono::milliseconds(static_cast<int>(arguments.waitSeconds * 1000));
  const auto joined = launch::joinRun(options);
  return joined.ok() ? static_cast<int>(joined.value()) : fail(joined.error());
}

#else

int join(const JoinArguments&) {
  return fail(base::Error{base::ExitCode::kEnvironment,
                          "this build has no ranks on other hosts, which need ZeroMQ; install "
                          "libzmq3-dev and build again",
                          "join"});
}

#endif

}  // namespace

void addJoin(CLI::App& app, Command& chosen) {
  auto* command = app.add_subcommand(
      "join",
      "Supervise ranks of a run whose recorder is on another host; started by mpirun, "
      "srun, torchrun --no-python, or by hand");
  auto arguments = std::make_shared<JoinArguments>();
  command->add_option("--token-file", arguments->tokenFile,
                      "The file of the run's token; default: LOCKSTEP_RECORDER and "
                      "LOCKSTEP_RUN_TOKEN of the environment");
  command->add_option("--recorder", arguments->recorder,
                      "Where the recorder is, tcp://ADDRESS:PORT; default: as the token's file "
                      "or LOCKSTEP_RECORDER says");
  command
      ->add_option("--node-rank", arguments->nodeRank,
                   "Number of this host: its ranks are those after the hosts before it; default: "
                   "one rank, by RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--nproc-per-node", arguments->ranksPerNode,
                   "Ranks of this host, checked against what the run has on each")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--wait", arguments->waitSeconds, "Seconds to wait for the recorder to answer")
      ->check(CLI::Range(1.0, 86400.0));
  command->callback([&chosen, arguments] { chosen = [arguments] { return join(*arguments); }; });
}

}  // namespace lockstep::cli

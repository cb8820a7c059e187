#include "engine/launch/Join.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/JobEnvironment.h"
#include "engine/base/Try.h"

namespace lockstep::cli {
namespace {

struct JoinArguments {
  std::string recorder;
  std::string tokenFile;
  int nodeRank = -1;
  int ranksPerNode = 0;
  std::vector<std::string> command;  // of this host's part of a job that is recorded; or none
  JobWatching watching;
  double waitSeconds = 60;
};

#ifdef LOCKSTEP_WITH_RELAY

using base::Error;
using base::ExitCode;

base::Result<relay::Ticket> ticketOf(const JoinArguments& arguments) {
  auto ticket = arguments.tokenFile.empty() ? launch::ticketFromEnvironment()
                                            : relay::readTicket(arguments.tokenFile);
  // The address in a token's file is the one that the recorder's host has for itself. Seen from a
  // host behind another network it may be a different one.
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

std::chrono::milliseconds patienceOf(const JoinArguments& arguments) {
  return std::chrono::milliseconds(static_cast<int>(arguments.waitSeconds * 1000));
}

base::Result<int> joinWithCommand(const JoinArguments& arguments, relay::Ticket ticket) {
  if (arguments.nodeRank >= 0 || arguments.ranksPerNode > 0) {
    return Error{ExitCode::kBadInput,
                 "is of ranks that lockstep run has started; the command's processes say "
                 "themselves which ranks they are",
                 arguments.nodeRank >= 0 ? "--node-rank" : "--nproc-per-node"};
  }
  launch::JoinJobOptions options;
  options.ticket = std::move(ticket);
  options.command = arguments.command;
  options.environment = LOCKSTEP_TRY(jobEnvironment(arguments.watching));
  options.wrote = passOn;
  options.warn = [](const std::string& text) { complain(text); };
  options.patience = patienceOf(arguments);
  const auto joined = LOCKSTEP_TRY(launch::joinJob(options));
  return joined.exitCode;
}

base::Result<int> join(const JoinArguments& arguments) {
  launch::JoinOptions options;
  options.ticket = LOCKSTEP_TRY(ticketOf(arguments));
  if (!arguments.command.empty()) {
    return joinWithCommand(arguments, std::move(options.ticket));
  }
  options.place = LOCKSTEP_TRY(placeOf(arguments));
  options.patience = patienceOf(arguments);
  const auto joined = LOCKSTEP_TRY(launch::joinRun(options));
  return static_cast<int>(joined);
}

#else

base::Result<int> join(const JoinArguments&) {
  return base::Error{base::ExitCode::kEnvironment,
                     "this build has no ranks on other hosts, which need ZeroMQ; install "
                     "libzmq3-dev and build again",
                     "join"};
}

#endif

}  // namespace

void addJoin(CLI::App& app, Command& chosen) {
  auto [command, arguments] = addCommand(
      app, chosen, "join",
      "Supervise ranks of a run whose recorder is on another host; started by mpirun, "
      "srun, torchrun --no-python, or by hand. With a command: start this host's part of a job "
      "that lockstep record --listen records there",
      join);
  command->add_option("--token-file", arguments->tokenFile,
                      "The file of the run's token; default: LOCKSTEP_RECORDER and "
                      "LOCKSTEP_RUN_TOKEN of the environment");
  command->add_option("--recorder", arguments->recorder,
                      "Where the recorder is, tcp://ADDRESS:PORT; default: as the token's file "
                      "or LOCKSTEP_RECORDER says");
  addChecked(*command, "--node-rank", arguments->nodeRank, CLI::NonNegativeNumber,
             "Number of this host: its ranks are those after the hosts before it; default: one "
             "rank, by RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID");
  addChecked(*command, "--nproc-per-node", arguments->ranksPerNode, CLI::PositiveNumber,
             "Ranks of this host, checked against what the run has on each");
  addChecked(*command, "--wait", arguments->waitSeconds, CLI::Range(1.0, 86400.0),
             "Seconds to wait for the recorder to answer");
  command
      ->add_option("COMMAND", arguments->command,
                   "This host's part of a job of PyTorch, behind --; ends as it ends")
      ->option_text("[-- COMMAND ...]");
  addWatching(*command, arguments->watching);
  command->positionals_at_end();
}

}  // namespace lockstep::cli

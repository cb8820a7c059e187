#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Environment.h"
#include "engine/base/Result.h"
#include "engine/relay/Token.h"

namespace lockstep::launch {

/// Which ranks of a run a relay is to supervise.
struct RelayPlace {
  std::vector<int> ranks;        ///< empty: those of `nodeRank`
  std::optional<int> nodeRank;   ///< number of this host, counted from 0
  int nodeSize = 0;              ///< ranks of this host, as the run must say too; 0 = as it says
  std::optional<int> worldSize;  ///< as whoever started this process says
  std::optional<int> localRank;  ///< of the one rank, on its host
  std::optional<int> localWorldSize;
  std::string variable;  ///< of the environment that says which rank; empty: none does
};

/// Reads it from the variables of torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE), else
/// of Open MPI, else of Slurm, which start one process a rank; those of one alone, since the others
/// may be of something that this runs within. Error (kBadInput): the first variable that is
/// missing, no whole number or out of range.
base::Result<RelayPlace> relayPlaceFromEnvironment(
    const base::ReadVariable& read = base::readEnvironmentVariable);

/// Where the recorder is, from LOCKSTEP_RECORDER and LOCKSTEP_RUN_TOKEN. Error (kBadInput).
base::Result<relay::Ticket> ticketFromEnvironment(
    const base::ReadVariable& read = base::readEnvironmentVariable);

struct JoinOptions {
  relay::Ticket ticket;
  RelayPlace place;
  std::filesystem::path rankProgram;           ///< empty: findRankProgram()
  std::chrono::milliseconds patience{60'000};  ///< until a recorder has answered
};

/// Supervises this host's ranks of a run whose head is elsewhere: reports to the recorder there
/// with the run's token, starts the ranks once all hosts have come, carries their events, output
/// and ends to it, and obeys its commands. Blocks until the head bids farewell; returns the exit
/// code of the first of its ranks that failed. Call it from the main thread, as superviseRun.
///
/// SIGINT, SIGTERM and SIGHUP of a terminal ask the head to stop the run; a second one kills the
/// ranks here. Ranks end within 5 s of this process' death (at once) and of the head's: at once
/// when the connection breaks, after launch.lost_after_seconds when it falls silent.
///
/// Error: the recorder's address is none (kBadInput), or names a host that is not known here
/// (kEnvironment); no recorder answered (kTimeout), it refused (its exit code), it was lost
/// (kCommFailed, naming the ranks here and elsewhere), a rank could not be started (kEnvironment).
base::Result<base::ExitCode> joinRun(const JoinOptions& options);

struct JoinJobOptions {
  relay::Ticket ticket;
  std::vector<std::string> command;        ///< program and arguments; not empty
  std::vector<std::string> environment;    ///< "KEY=value", the whole; kAttachVariable is added
  std::filesystem::path controlDirectory;  ///< empty: controlDirectory()
  /// What the command writes, as it comes; `isError`: to its stderr.
  std::function<void(bool isError, std::string_view bytes)> wrote;
  /// Once, as soon as the command goes on and is recorded no further: why.
  std::function<void(const std::string&)> warn;
  std::chrono::milliseconds patience{60'000};  ///< until a recorder has answered
  /// Until it says whether a process is recorded: less than the process waits (engine/observer).
  std::chrono::milliseconds answerPatience{5'000};
};

struct JoinedJob {
  int exitCode = 0;  ///< the command's; 128 + the signal that ended it
};

/// This host's part of a job that is recorded elsewhere (Job.h, `listen`): connects with the run's
/// token, starts the command once the head knows this host's clock, and carries its output, its end
/// and the events of its processes that attach to the head. The command is recorded, not led: where
/// the head is lost, it goes on. Blocks until it has ended. Call it from the main thread, as
/// recordJob.
///
/// SIGINT, SIGTERM and SIGHUP of a terminal ask the head to stop the job; a second one kills the
/// command here and every process that attached.
///
/// Error, and the command was not started: as joinRun; there is no such program (kEnvironment).
base::Result<JoinedJob> joinJob(const JoinJobOptions& options);

}  // namespace lockstep::launch

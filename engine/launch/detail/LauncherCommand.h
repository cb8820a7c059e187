#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/experiment/Experiment.h"
#include "engine/relay/Token.h"

namespace lockstep::launch::detail {

/// Returns the command that starts one relay a rank, launch.arguments before what it starts:
///
///   mpirun -np W [--map-by ppr:K:node] [--bind-to none] -x LOCKSTEP_RECORDER
///          -x LOCKSTEP_RUN_TOKEN ARGUMENTS... PROGRAM join
///   srun --nodes=N --ntasks=W --ntasks-per-node=K --kill-on-bad-exit=0 [--cpu-bind=none]
///        ARGUMENTS... PROGRAM join
///
/// The token itself is in the environment alone. Not for "local" and "external".
std::vector<std::string> launcherCommand(const experiment::LaunchConfig& launch, int worldSize,
                                         const std::filesystem::path& program);

/// Returns `inherited` ("KEY=value" texts) with the recorder's address and the run's token, and
/// without a place that torchrun gave to this process, which would pass for one of its relays.
std::vector<std::string> launcherEnvironment(const relay::Ticket& ticket,
                                             std::vector<std::string> inherited);

/// Tells a person how to start the relays of "external", line by line.
std::vector<std::string> joinAdvice(const experiment::LaunchConfig& launch, int worldSize,
                                    const std::string& recorder,
                                    const std::filesystem::path& ticketFile,
                                    const std::filesystem::path& program);

}  // namespace lockstep::launch::detail

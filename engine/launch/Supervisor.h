#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/RunFile.h"

namespace lockstep::launch {

/// How long the supervisor waits before it helps along.
struct LaunchLimits {
  using Milliseconds = std::chrono::milliseconds;
  Milliseconds startupMargin{30'000};  ///< beyond processes.timeout_seconds, to the first step
  Milliseconds failureGrace{5'000};    ///< after a rank failed, for the others to end
  Milliseconds stopGrace{10'000};      ///< after a stop was asked for, to end the step
  Milliseconds terminateGrace{2'000};  ///< from SIGTERM to SIGKILL
  /// For the end that SIGKILL brings: who survives it longer sits in the kernel, out of reach.
  Milliseconds killGrace{10'000};
};

struct LaunchOptions {
  experiment::Experiment experiment;
  std::string experimentToml;               ///< resolved: every key written out
  std::filesystem::path runFile;            ///< created; its folder too when it is missing
  bool numberIfTaken = false;               ///< "a-2.lockstep" where runFile "a.lockstep" is taken
  std::filesystem::path rankProgram;        ///< empty: findRankProgram()
  std::filesystem::path controlDirectory;   ///< empty: controlDirectory()
  /// Lines for whoever is to start the ranks of launch.launcher "external".
  std::function<void(const std::string&)> announce;
  LaunchLimits limits;
};

/// What `progress` callbacks see, ten times a second.
struct LaunchProgress {
  trace::RunState state = trace::RunState::kStarting;
  bool stopping = false;            ///< a stop was asked for, or a rank failed
  std::chrono::milliseconds elapsed{0};
  trace::Recorder::Progress recorder;
};

struct LaunchOutcome {
  trace::RunState state = trace::RunState::kFinished;  ///< one of hasEnded()
  base::ExitCode exitCode = base::ExitCode::kOk;
  std::string failure;  ///< the one line that says why it failed or diverged; empty otherwise
  std::string warning;  ///< the run file is incomplete (a full disk, say); empty otherwise
  bool stopped = false;  ///< a signal or a command asked for its end, whatever the run came to
  std::filesystem::path runFile = {};  ///< that holds the run
};

/// Runs an experiment: makes the event memory, the store, the control socket and the run file,
/// starts the ranks as direct children, or lets launch.launcher start relays (Join.h), records
/// until the last one has ended, and ends the survivors of a failure. Blocks; call it from the main
/// thread, with no other thread running that does not block SIGINT, SIGTERM and SIGHUP.
///
/// SIGINT, SIGTERM, SIGHUP of a terminal, and "stop" on the control socket ask the ranks to
/// stop after their step (SIGTERM); a second signal kills them. Ranks see torchrun's
/// environment (RankEnvironment.h).
///
/// Returns an Error when nothing was started and no run file is left: output not writable or
/// existing, port taken, no rank program, too few descriptors, too little memory (kEnvironment).
/// Every later failure is an outcome, recorded in the run file. A recorder that fails leaves
/// the ranks alone: `warning` says so and the exit code of a finished run is kEnvironment.
base::Result<LaunchOutcome> superviseRun(
    const LaunchOptions& options,
    const std::function<void(const LaunchProgress&)>& progress = nullptr);

}  // namespace lockstep::launch

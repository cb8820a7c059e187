#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/capture/DetailWriter.h"
#include "engine/trace/RunFile.h"

namespace lockstep::launch {

/// What an observed job's processes find the recorder by: the path of a Unix socket
/// (Note [Attaching]).
inline const std::string kAttachVariable = "LOCKSTEP_ATTACH";

struct JobOptions {
  std::vector<std::string> command;        ///< program and arguments; not empty
  std::string name;                        ///< of the run
  std::vector<std::string> environment;    ///< "KEY=value", the whole; kAttachVariable is added
  std::filesystem::path runFile;           ///< created; its folder too when it is missing
  bool numberIfTaken = false;              ///< "a-2.lockstep" where runFile "a.lockstep" is taken
  std::filesystem::path controlDirectory;  ///< empty: controlDirectory()
  /// Where relays of other hosts (Join.h) are listened to, "ADDRESS[:PORT]", as launch.listen
  /// has it, or "" for this host's address. Nothing: the job is of this host alone.
  std::optional<std::string> listen;
  /// Where their token is written, readable by this user alone, and removed at the end; empty: a
  /// file beside the control socket.
  std::filesystem::path tokenFile;
  capture::DetailOptions detail;  ///< what the run file keeps of the events
  /// Lines for whoever starts the relays.
  std::function<void(const std::string&)> announce;
  /// What the command writes, as it comes; `isError`: to its stderr.
  std::function<void(bool isError, std::string_view bytes)> wrote;
  /// From SIGINT to SIGTERM to SIGKILL, once a stop was asked for.
  std::chrono::milliseconds stopGrace{10'000};
  /// For the commands of other hosts to end, once this host's has.
  std::chrono::milliseconds othersGrace{10'000};
};

struct JobOutcome {
  trace::RunState state = trace::RunState::kFinished;  ///< one of hasEnded()
  int exitCode = 0;      ///< the command's; 128 + the signal that ended it
  std::string failure;   ///< the one line that says why it failed or diverged; empty otherwise
  std::string warning;   ///< the run file is incomplete, or there is none, or a host was lost
  bool stopped = false;  ///< a signal or a command asked for its end
  std::filesystem::path runFile;  ///< empty: no process attached, and nothing was recorded
};

/// Starts a command that trains with something else than Lockstep's engine (PyTorch, by torchrun,
/// say), and records every process of it that attaches (engine/observer), until the command has
/// ended. It is recorded, not led: it finds what it found without, trains on where the recorder
/// fails, and ends as it ends. Blocks; call it from the main thread, with no other thread running
/// that does not block SIGINT, SIGTERM and SIGHUP.
///
/// With `listen`, relays of other hosts report their part of the job, over the run's token; the
/// command finds both in its environment (LOCKSTEP_RECORDER, LOCKSTEP_RUN_TOKEN), so that one that
/// starts relays, as srun does, needs no more. Once this host's command has ended, those of others
/// are waited for, `othersGrace` at most. The exit code is this host's.
///
/// SIGINT, SIGTERM, SIGHUP of a terminal, and "stop" on the control socket send the commands of all
/// hosts SIGINT, a second signal kills them and every process that attached.
///
/// Returns an Error when nothing was started and no run file is left: output not writable or
/// existing, no such program, the address is taken (kEnvironment), or none (kBadInput).
base::Result<JobOutcome> recordJob(const JobOptions& options);

}  // namespace lockstep::launch

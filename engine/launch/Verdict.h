#pragma once

#include <string>
#include <vector>

#include "engine/base/ExitCodes.h"
#include "engine/base/posix/ChildProcess.h"
#include "engine/launch/Obituary.h"
#include "engine/trace/RunFile.h"

namespace lockstep::launch {

/// How one rank ended and what is known about it.
struct RankEnd {
  int rank = 0;
  int order = 0;  ///< 0 = the first rank that ended
  posix::ProcessEnd end;
  bool isCodeKnown = true;    ///< false: of a process that is no child of ours; `end` is what its
                              ///< last words come to
  bool killedByUs = false;    ///< the signal that ended it was the supervisor's, or torchrun's
  std::string lost;           ///< why nothing more can be known of it; "" = `end` says how it ended
  bool wasSuspended = false;  ///< stopped (SIGSTOP) when it was killed
  Obituary words;
  std::string lastErrorLine;  ///< last line on its stderr
};

/// The outcome of a run: its state, exit code and the one line that says why it failed.
struct Verdict {
  trace::RunState state = trace::RunState::kFinished;
  base::ExitCode exitCode = base::ExitCode::kOk;
  std::string failure;
  int rank = -1;  ///< the rank that caused it; -1 = none
};

/// Returns whether the rank ended as it should: exit code 0 and its work done.
bool endedWell(const RankEnd& end);

/// Says how a rank ended, in one line: "rank 1 was ended by SIGKILL 12 ms into iteration 312, ...".
std::string describe(const RankEnd& end);

/// Names the root cause among all ranks' ends. A rank that was lost, or ended by a signal that was
/// not ours, comes before one with an exit code of its own, that before one that was found
/// suspended, and that before one whose collective failed, since its peers' collectives fail when a
/// rank goes away or stands still; among equals the first counts. Of failed collectives, and of
/// models that differ, the ranks come first that most of the errors find at fault, and who told of
/// them is a detail: "rank 1 made another call than the other ranks, in iteration 12; rank 2 failed
/// ...".
Verdict judge(const std::vector<RankEnd>& ends);

}  // namespace lockstep::launch

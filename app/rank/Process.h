#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/base/Result.h"
#include "engine/trace/Segment.h"

namespace lockstep::rank {

/// Ties this process' life to its supervisor's: the kernel kills it when that ends.
/// Error (kEnvironment): the supervisor is gone already.
base::Status dieWith(std::int64_t supervisorPid);

/// Returns how long ago this process was started, in ns; the kernel counts in 10 ms.
std::int64_t processAgeNs();

/// From now on a crash leaves the crashing thread's base::CrashNote in `words`, which outlive the
/// process; then the signal does what it would have done. A thread that has such a note and calls
/// exit() ends the process as a hook that failed, with a line by `who`.
void tellOfCrashes(trace::LastWords& words, const std::string& who);

/// Lets the first SIGTERM or SIGINT set the flag that is returned; a second one kills.
const std::atomic<bool>& listenForStop();

/// Reads all of an open file that can be read at any place, from its start; its offset, which
/// other processes may share, is left alone.
base::Result<std::string> readFromStart(int fd);

}  // namespace lockstep::rank

#pragma once

#include <chrono>

#include "engine/process_group/ProcessGroup.h"

namespace lockstep::process_group {

/// The tag of its messages; send and recv leave it alone.
inline constexpr int kMonitoredBarrierTag = 0x7FFF'FFF0;

/// A barrier that says who is missing, as c10d's monitored_barrier. Every rank reports to rank 0
/// by send, and rank 0 answers once all have come or `timeout` has passed (kNoTimeout = the
/// group's); one time budget covers all ranks. Blocks. Throws CommError, kTimeout unless said
/// otherwise:
///
/// rank 0         "Rank 2 failed to pass monitoredBarrier in 1000 ms", or "Ranks 1, 2 failed
///                ...", and which ranks did come; with a broken connection its kind and text
/// others         what rank 0 found (kRemote); if rank 0 itself does not answer within a second
///                more: "Rank 1 successfully reached monitoredBarrier, but received errors while
///                waiting for send/recv from rank 0"
///
/// With waitAllRanks rank 0 names all ranks that failed to come by the end of the time; without,
/// it gives up at the first that is known to fail and names those that are missing then. A
/// failed monitored barrier aborts the group with that text, which late ranks get.
void monitoredBarrier(ProcessGroup& group, std::chrono::milliseconds timeout = kNoTimeout,
                      bool waitAllRanks = false);

}  // namespace lockstep::process_group

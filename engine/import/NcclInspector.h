#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/import/JobClock.h"
#include "engine/trace/EventRecord.h"

namespace lockstep::imports {

/// A communicator as one process took part in it.
struct InspectorCommunicator {
  std::string id;    ///< NCCL's hash of it, the same in all of its processes
  std::string name;  ///< that the job gave it; empty: not said
  int rank = 0;      ///< of the process in it
  int ranks = 0;     ///< of it
};

/// A collective, send or receive that was over.
struct InspectorRecord {
  std::uint32_t communicator = 0;  ///< of InspectorLog::communicators
  trace::Operation operation{};
  std::uint64_t sequence = 0;  ///< NCCL's own, of this function in the communicator
  std::uint64_t bytes = 0;
  std::int64_t durationNs = 0;
  bool byDevice = false;     ///< the device's clock told the duration
  std::int64_t dumpNs = 0;   ///< when the line was written, ns since 1970 by the host's clock
  std::int64_t beginNs = 0;  ///< when the host heard that its kernel ran; 0: not said
  std::int64_t endNs = 0;    ///< and that it was over
};

/// What the NCCL Inspector wrote of one process: a file of JSON objects, one a line
/// (ext-profiler/inspector of NCCL 2.28 and later, formats v4.0 to v4.2).
struct InspectorLog {
  std::filesystem::path path;
  std::string hostName;
  std::int64_t pid = 0;
  std::vector<InspectorCommunicator> communicators;  ///< in the order in which they come
  std::vector<InspectorRecord> records;              ///< in the order of the file
  std::size_t others = 0;                            ///< lines that tell of something else
  bool isCutOff = false;  ///< the last line is none, as a process that is killed leaves it
};

/// Reads a line at a time; gzip too. Errors (kBadInput): the line, and what is wrong with it.
base::Result<InspectorLog> readInspectorLog(const std::filesystem::path& path);

// Note [When a collective of an Inspector was]
// Inspector says how long a collective took, and when it wrote that down. When the collective was,
// it says with NCCL_INSPECTOR_DUMP_VERBOSE alone. Without, it stands as late as it can: it was over
// when its line was written, and before the next of its communicator, which the same stream ran.
// So such times are good for an order and not for a comparison between ranks, and the spans are
// those of NCCL's kernels, which no analysis takes for the arrival of a rank.

/// Makes ranks of processes: a process has the rank that it has in the communicator that all of
/// them share. Without one they are numbered, which is said in `notes`. Errors (kBadInput): two
/// logs of one process, two processes of one rank.
base::Result<Job> jobOf(std::vector<InspectorLog> logs, std::vector<std::string>& notes);

}  // namespace lockstep::imports

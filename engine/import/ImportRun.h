#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/Result.h"

namespace lockstep::imports {

struct ImportOptions {
  std::vector<std::filesystem::path> paths;  ///< files, and folders whose files are taken
  std::filesystem::path runFile;             ///< created
  std::string name;                          ///< of the run; empty: that of the first path
  /// Called for each file before it is read; where it returns false, the import ends. May be empty.
  std::function<bool(const std::filesystem::path& file, std::size_t number, std::size_t of)>
      progress;
};

struct ImportReport {
  std::size_t traces = 0;
  std::size_t dumps = 0;
  std::size_t logs = 0;     ///< of NCCL Inspectors
  std::size_t leftOut = 0;  ///< files of folders that are none of these
  std::size_t ranks = 0;
  std::uint64_t steps = 0;            ///< of the rank with most
  std::uint64_t events = 0;           ///< rows written
  std::vector<std::string> problems;  ///< as the run has them
};

/// Makes a run of what people already have of a job: Kineto traces (torch.profiler) and Flight
/// Recorder dumps, of one or many ranks, or the logs of NCCL Inspectors. Of a rank that has both,
/// the trace is shown, and the dump tells who did not come. Several traces of one rank, as a
/// profiler whose schedule repeats writes them, become one timeline. Blocks; one thread. Errors:
/// nothing to read, a file that is damaged or of another kind, two of one rank that cannot follow
/// one another (kBadInput); the run file cannot be written (kEnvironment); kInterrupted.
/// After an error there is no run file.
base::Result<ImportReport> importRun(const ImportOptions& options);

}  // namespace lockstep::imports

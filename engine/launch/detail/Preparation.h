#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/capture/DetailWriter.h"
#include "engine/experiment/Experiment.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

/// Raises the soft limit of open files as far as `worldSize` ranks need it. Error: the hard
/// limit is lower.
base::Status ensureDescriptors(int worldSize);

/// Raises the soft limit of open files to 65536, or the hard limit where that is lower: whoever
/// reaches a port that is open to other hosts can hold connections for as long as a handshake may
/// take.
void raiseDescriptors();

/// Makes the segments of `ranks` ranks. Error: memory for all of them is not available.
base::Result<std::vector<trace::Segment>> makeSegments(const trace::SegmentOptions& options,
                                                       int ranks, bool capture);
/// As the experiment needs them.
base::Result<std::vector<trace::Segment>> makeSegments(const experiment::Experiment& experiment,
                                                       int ranks);

struct CreatedRunFile {
  std::filesystem::path path;
  std::unique_ptr<trace::RunFileWriter> writer;
};

/// Makes a run file under its name or, with `numberIfTaken`, since others may be started in the
/// same second, under the first that is free: "a-2.lockstep". The file system decides between them.
/// Error: kEnvironment.
base::Result<CreatedRunFile> createRunFile(const std::filesystem::path& wanted, bool numberIfTaken);

/// Returns 16 random hex digits.
std::string makeRunId();

/// Returns 32 hex digits that nobody else can guess: what the ranks open the store with.
std::string makeStoreToken();

/// Returns the time of day as UTC in ISO 8601, to the second: "2024-05-01T12:00:00Z".
std::string utcNow();

/// Returns what the run file's environment says about this host: processor, cores, memory,
/// kernel, clock source, version of Lockstep.
std::map<std::string, std::string> hostEnvironment();

/// Returns what a run file says of any run as it begins, led by this process.
trace::RunInfo firstInfo(const std::string& runId, const std::string& name,
                         const std::filesystem::path& controlSocket);

/// Begins to record `segments`, which outlive the recorder; `detail` of them.
std::unique_ptr<trace::Recorder> startRecorder(std::unique_ptr<trace::RunFileWriter> writer,
                                               const trace::RunInfo& info,
                                               std::vector<trace::Segment>& segments,
                                               trace::Recorder::Rates rates,
                                               const capture::DetailOptions& detail);

/// Records that a rank trains; with the first of them the run does, whose state is `state`.
void recordRunning(trace::Recorder& recorder, int rank, trace::RunState& state);

/// Records how the run ended.
void recordEnd(trace::Recorder& recorder, trace::RunState state, int exitCode,
               const std::string& failure);

}  // namespace lockstep::launch::detail

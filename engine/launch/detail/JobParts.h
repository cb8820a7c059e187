#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/Result.h"
#include "engine/base/posix/ChildProcess.h"
#include "engine/launch/detail/Attaching.h"
#include "engine/trace/Recorder.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/Segment.h"

namespace lockstep::launch::detail {

// Note [The parts of a job]
// A job that is recorded has a part on each host: a command, and the processes that attach there.
// This host's is a LocalPart; those of other hosts are LocalParts of relays, which RemoteParts has
// at its end of the line. Both tell one PartWatcher, which need not know where a part is.

/// The event memory of a process: PyTorch writes on a handful of threads, and a few hundred events
/// a step.
inline constexpr trace::SegmentOptions kJobMemory{24, 1u << 14, 4u << 20};

/// How long processes may outlive their command.
inline constexpr auto kOutliving = std::chrono::seconds(3);

/// Names a part: kHere, or a relay's connection.
using PartId = std::string;
inline const PartId kHere;

/// A process wants to be recorded.
struct Attempt {
  PartId part;
  Hello hello;
  std::int64_t pid = 0;  ///< on its host; 0: it cannot be told
  int host = trace::kRecordingHost;
  bool isVisible = true;  ///< `pid` is a number of processes here
};

/// What it is recorded into.
struct Admission {
  trace::Segment* segment = nullptr;  ///< outlives the part
  std::uint32_t step = 0;             ///< the first that it may write
};

/// Hears what becomes of the parts. Called in the event loop's thread.
class PartWatcher {
 public:
  virtual ~PartWatcher() = default;

  /// The part's command runs, on a host of this name.
  virtual void commandStarted(const PartId& part, const std::string& host, std::int64_t pid) = 0;
  virtual void commandWrote(const PartId& part, bool isError, std::string_view bytes) = 0;
  /// All that it wrote was handed on before.
  virtual void commandEnded(const PartId& part, const posix::ProcessEnd& end) = 0;
  /// Error: it is not recorded, and why.
  virtual base::Result<Admission> attaches(const Attempt& attempt) = 0;
  /// The process that attached last as this rank has ended; its events are in the segment.
  virtual void processEnded(int rank) = 0;
  /// Nothing more will be heard of the part. `text`: "host b (10.0.0.2) with rank 1 is lost: ...".
  virtual void partLost(const PartId& part, const std::string& text) = 0;
  /// Somebody else than this program's user wants the job to stop.
  virtual void stopAsked(const std::string& who) = 0;
};

/// Some parts of a job. One thread, the event loop's.
class JobParts {
 public:
  virtual ~JobParts() = default;

  /// Sends the commands a signal; SIGKILL goes to every process that has attached as well.
  virtual void send(int signal) = 0;

  /// Lets the processes record events, or not.
  virtual void setCapture(bool enabled) = 0;
};

/// Those of other hosts.
class OtherParts : public JobParts {
 public:
  /// The hosts and their clocks, and what is wrong, are recorded there, also what was until now.
  virtual void recordInto(trace::Recorder& recorder) = 0;
  /// Called about ten times a second.
  virtual void tick() = 0;
  /// Asks their processes for a trace, by the word that requestTraces made.
  virtual void requestTrace(std::uint32_t request) = 0;
  /// Whether a rank's process was stopped when it was last heard of (SIGSTOP, a debugger).
  [[nodiscard]] virtual bool isStopped(int rank) const = 0;
  /// Those whose command has not ended, as far as is known.
  [[nodiscard]] virtual int living() const = 0;
  /// "host b (10.0.0.2) with ranks 2, 3, host c ...": they.
  [[nodiscard]] virtual std::string livingNames() const = 0;
  /// Nothing more is recorded: lets them go. Blocks 3 s at most.
  virtual void finish() = 0;
};

}  // namespace lockstep::launch::detail

#include "engine/launch/detail/Preparation.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/Check.h"
#include "engine/base/Clock.h"
#include "engine/base/NumberText.h"
#include "engine/trace/HostFacts.h"

namespace lockstep::launch::detail {
namespace {

using base::Error;
using base::ExitCode;

/// Returns the value of a line "key: value" in a file of /proc, or "".
std::string procValue(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) {
      const std::size_t value = line.find_first_not_of(" \t:", key.size());
      return value == std::string::npos ? "" : line.substr(value);
    }
  }
  return "";
}

std::uint64_t availableBytes() {
  const std::string text = procValue("/proc/meminfo", "MemAvailable");
  // A kernel that does not say refuses by itself. The file counts in KiB.
  return text.empty() ? UINT64_MAX : std::stoull(text) * 1024;
}

/// Threads that record, and a few to spare: a group has a queue, two threads, a check and a link.
std::uint32_t lanesFor(const experiment::Experiment& experiment) {
  constexpr int kOfAGroup = 5;
  constexpr int kGroupsOfAHook = 3;  // all ranks, and twice some of them
  const auto& processes = experiment.processes;
  const int hooks =
      experiment.hook.isOwn() ? 0 : 1 + static_cast<int>(experiment.hook.inner.size());
  const int groups = processes.roundRobin + hooks * kGroupsOfAHook;
  const int devices = processes.strategy == "data_parallel" ? processes.devices : 0;
  // Too few lanes would leave threads out of the run, too many cost ring memory that nobody writes.
  return static_cast<std::uint32_t>(11 + groups * kOfAGroup + devices);
}

}  // namespace

base::Status ensureDescriptors(int worldSize) {
  // A rank costs its segment, two pipes, a pidfd and its connections to the store. The recorder
  // keeps files of /proc open besides, where there is room for them.
  const rlim_t needed = 128 + 12 * static_cast<rlim_t>(worldSize);
  const rlim_t wanted = needed + 8 * static_cast<rlim_t>(worldSize);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
    return {};
  }
  if (limit.rlim_max < needed) {
    return Error{ExitCode::kEnvironment,
                 fmt::format("{} ranks need {} open files and the hard limit is {}; raise it "
                             "(ulimit -Hn) or lower processes.world_size",
                             worldSize, needed, limit.rlim_max),
                 "open files"};
  }
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return base::systemError(ExitCode::kEnvironment,
                             fmt::format("cannot raise the limit to {}", limit.rlim_cur),
                             "open files");
  }
  return {};
}

void raiseDescriptors() {
  // As many as an address has ports. More is no use, and programs that are started from here may
  // walk over all there could be.
  constexpr rlim_t kEnough = 65'536;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough) {
    limit.rlim_cur = std::min(limit.rlim_max, kEnough);
    static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));  // otherwise as many as there are
  }
}

base::Result<std::vector<trace::Segment>> makeSegments(const trace::SegmentOptions& options,
                                                       int ranks, bool capture) {
  // Checked beforehand, since the kernel may kill a process rather than refuse it memory.
  const std::uint64_t needed =
      static_cast<std::uint64_t>(ranks) *
      (options.messageRingBytes +
       std::uint64_t{options.lanes} * options.eventsPerLane * sizeof(trace::Event));
  const std::uint64_t available = availableBytes();
  if (needed > available) {
    return Error{ExitCode::kEnvironment,
                 fmt::format("{} ranks need {} of event memory and {} are available", ranks,
                             base::bytesText(static_cast<double>(needed)),
                             base::bytesText(static_cast<double>(available))),
                 "memory"};
  }
  std::vector<trace::Segment> segments;
  for (int rank = 0; rank < ranks; ++rank) {
    auto segment = trace::Segment::create(options);
    if (!segment.ok()) {
      return segment.error().within(fmt::format("rank {}", rank));
    }
    segment.value().header().captureEnabled.store(capture ? 1 : 0);
    segments.push_back(std::move(segment).value());
  }
  return segments;
}

base::Result<std::vector<trace::Segment>> makeSegments(const experiment::Experiment& experiment,
                                                       int ranks) {
  trace::SegmentOptions options;
  options.lanes = lanesFor(experiment);
  options.eventsPerLane = static_cast<std::uint32_t>(experiment.capture.ringEvents);
  auto segments = makeSegments(options, ranks, experiment.capture.enabled);
  if (!segments.ok() && segments.error().where == "memory") {
    Error error = segments.error();
    error.what += fmt::format("; lower capture.ring_events ({}) or processes.world_size",
                              options.eventsPerLane);
    return error;
  }
  return segments;
}

base::Result<CreatedRunFile> createRunFile(const std::filesystem::path& wanted,
                                           bool numberIfTaken) {
  std::filesystem::path path = wanted;
  std::error_code error;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      return Error{ExitCode::kEnvironment,
                   fmt::format("cannot make the folder of the run file: {}; choose another with "
                               "--out",
                               error.message()),
                   path.string()};
    }
  }
  auto writer = trace::RunFileWriter::create(path);
  // Creating fails where the file exists, so that of two that try the same name one gets it.
  for (int number = 2; numberIfTaken && !writer.ok() && std::filesystem::exists(path, error);
       ++number) {
    path = wanted.parent_path() /
           fmt::format("{}-{}{}", wanted.stem().string(), number, wanted.extension().string());
    writer = trace::RunFileWriter::create(path);
  }
  if (!writer.ok()) {
    Error failed = writer.error();
    failed.code = ExitCode::kEnvironment;
    failed.where = path.string();  // and not the draft's name, of which nothing is left
    if (!std::filesystem::exists(path, error)) {
      failed.what += "; choose another place with --out";
    }
    return failed;
  }
  return CreatedRunFile{path, std::move(writer).value()};
}

std::string makeRunId() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof(bits), 0) != static_cast<ssize_t>(sizeof(bits))) {
    // An id only has to differ from those of the same folder. A token may not be guessed: there is
    // no second way below.
    bits = base::ticks();
  }
  return fmt::format("{:016x}", bits);
}

std::string makeStoreToken() {
  std::array<std::uint64_t, 2> bits{};
  const ssize_t got = getrandom(bits.data(), sizeof(bits), 0);
  LOCKSTEP_CHECK(got == static_cast<ssize_t>(sizeof(bits)), "getrandom gave {} bytes", got);
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

std::string utcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

std::map<std::string, std::string> hostEnvironment() {
  std::map<std::string, std::string> result{
      {"lockstep", LOCKSTEP_VERSION},
      {"clock", base::clockSource() == base::ClockSource::kTsc ? "tsc" : "monotonic"},
      {"cores", std::to_string(std::thread::hardware_concurrency())},
  };
  if (const std::string model = procValue("/proc/cpuinfo", "model name"); !model.empty()) {
    result["processor"] = model;
  }
  if (const std::string memory = procValue("/proc/meminfo", "MemTotal"); !memory.empty()) {
    result["memory"] = memory;
  }
  if (utsname kernel{}; uname(&kernel) == 0) {
    result["kernel"] = fmt::format("{} {}", kernel.sysname, kernel.release);
  }
  return result;
}

trace::RunInfo firstInfo(const std::string& runId, const std::string& name,
                         const std::filesystem::path& controlSocket) {
  trace::RunInfo info;
  info.runId = runId;
  info.name = name;
  info.startedAt = utcNow();
  info.supervisorPid = getpid();
  info.supervisorStart = trace::processStart(getpid());
  info.controlSocket = controlSocket.string();
  info.hostName = trace::hostName();
  info.environment = hostEnvironment();
  return info;
}

std::unique_ptr<trace::Recorder> startRecorder(std::unique_ptr<trace::RunFileWriter> writer,
                                               const trace::RunInfo& info,
                                               std::vector<trace::Segment>& segments,
                                               trace::Recorder::Rates rates,
                                               const capture::DetailOptions& detail) {
  std::vector<trace::Segment*> pointers;
  for (trace::Segment& segment : segments) {
    pointers.push_back(&segment);
  }
  return trace::Recorder::start(capture::writeDetail(std::move(writer), detail), info,
                                std::move(pointers), rates);
}

void recordRunning(trace::Recorder& recorder, int rank, trace::RunState& state) {
  recorder.updateRank(rank, [](trace::RankInfo& info) { info.state = "running"; });
  if (state == trace::RunState::kStarting) {
    state = trace::RunState::kRunning;
    recorder.updateInfo([](trace::RunInfo& info) { info.state = trace::RunState::kRunning; });
  }
}

void recordEnd(trace::Recorder& recorder, trace::RunState state, int exitCode,
               const std::string& failure) {
  recorder.updateInfo([state, exitCode, &failure](trace::RunInfo& info) {
    info.state = state;
    info.exitCode = exitCode;
    info.failure = failure;
    info.finishedAt = utcNow();
    info.controlSocket.clear();
  });
}

}  // namespace lockstep::launch::detail

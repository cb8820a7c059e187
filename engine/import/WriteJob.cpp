#include "engine/import/WriteJob.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/base/Xxh64.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;
using trace::Event;
using trace::EventKind;

constexpr std::size_t kCommitEvery = 200'000;

std::string utc(std::int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm time{};
  gmtime_r(&seconds, &time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time);
}

class JobWriter {
 public:
  JobWriter(const Job& job, const JobFacts& facts) : job_(job), facts_(facts) {
    numbers_ = numberCalls(job, notes_);
    hosts_ = hostsOf(job, numbers_);
  }

  base::Result<WrittenJob> write(trace::RunFileWriter& file) {
    writeHosts(file);
    writeInfo(file);
    for (const auto& [rank, here] : job_) {
      writeRank(file, rank, here);
    }
    const RankTimeline& first = job_.begin()->second.timeline;
    file.setParameters({first.parameters});
    for (const trace::BucketsMessage& layout : first.layouts) {
      file.addLayout(layout);
    }
    writeProblems(file);
    for (const auto& [rank, here] : job_) {
      LOCKSTEP_TRY(writeEvents(file, rank, here.timeline));
    }
    LOCKSTEP_TRY(file.finish());
    return std::move(written_);
  }

 private:
  [[nodiscard]] int hostOf(int rank) const {
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      if (std::find(hosts_[h].ranks.begin(), hosts_[h].ranks.end(), rank) !=
          hosts_[h].ranks.end()) {
        return static_cast<int>(h);
      }
    }
    return trace::kRecordingHost;
  }

  [[nodiscard]] std::uint64_t ticks(int rank, std::int64_t ns) const {
    const std::int64_t since =
        ns + job_.at(rank).epochNs - hosts_[static_cast<std::size_t>(hostOf(rank))].originNs;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(since, 0));
  }

  void writeHosts(trace::RunFileWriter& file) {
    for (std::size_t h = 0; h < hosts_.size(); ++h) {
      file.addHost({static_cast<int>(h), hosts_[h].name, "", "monotonic"});
      // Ticks of an imported run are ns.
      const base::ClockCalibration nanoseconds{0, 0, 1.0};
      if (h == 0) {
        file.addClock(nanoseconds);
      } else {
        file.addClock(static_cast<int>(h), nanoseconds, hosts_[h].offset);
      }
      if (!hosts_[h].note.empty()) {
        notes_.push_back(hosts_[h].note);
      }
    }
  }

  void writeInfo(trace::RunFileWriter& file) {
    trace::RunInfo info;
    base::Xxh64 digest;
    digest.update(facts_.sources + facts_.runFile);
    // The same files into the same run file give the same id.
    info.runId = fmt::format("imported-{:016x}", digest.digest());
    info.name = facts_.name;
    info.kind = trace::RunKind::kImported;
    info.command = facts_.sources;
    info.state = trace::RunState::kFinished;
    const JobRank& first = job_.begin()->second;
    if (first.tellsTheTime) {
      info.startedAt = utc(first.firstNs + first.epochNs);
    }
    info.hostName = first.hostName;
    info.worldSize = facts_.worldSize;
    info.environment["imported"] = facts_.kinds;
    file.setInfo(info);
  }

  void writeRank(trace::RunFileWriter& file, int rank, const JobRank& here) {
    trace::RankInfo info;
    info.rank = rank;
    info.state = "finished";
    info.host = hostOf(rank);
    info.environment["imported_from"] = here.source;
    const auto put = [&](const char* key, const std::string& value) {
      if (!value.empty()) {
        info.environment[key] = value;
      }
    };
    put("backend", here.backend);
    put("device", here.device);
    put("hostname", here.hostName);
    for (const auto& [key, value] : here.facts) {
      put(key.c_str(), value);
    }
    std::optional<std::uint32_t> step;
    for (const TimedEvent& event : here.timeline.events) {
      if (event.kind == EventKind::kStep) {
        step = std::min(step.value_or(event.step), event.step);
      }
    }
    if (step.value_or(0) > 0) {
      // A profiler may begin with any iteration: the run then counts as one that was resumed there.
      info.environment["first_step"] = std::to_string(*step);
    }
    file.setRank(info);
    tracks_[rank] = nextTrack_;
    for (const std::string& lane : here.timeline.lanes) {
      file.addTrack({nextTrack_++, rank, lane});
    }
  }

  void problem(trace::RunFileWriter& file, const JobProblem& problem) {
    trace::ProblemRow row;
    row.severity = problem.severity;
    row.rank = problem.rank;
    row.text = problem.text;
    file.addProblem(row);
    written_.problems.push_back(problem.text);
  }

  void writeProblems(trace::RunFileWriter& file) {
    for (const JobProblem& known : facts_.problems) {
      problem(file, known);
    }
    if (facts_.rankAssumed) {
      problem(file,
              {"warning", -1, "the file does not say of which rank it is: it is shown as rank 0"});
    }
    // worldSize is at least the highest rank plus one (Import::run).
    const auto missing = static_cast<std::size_t>(facts_.worldSize) - job_.size();
    if (missing > 0) {
      problem(file, {"warning", -1,
                     fmt::format("of the job's {} ranks {} not among what was imported: who came "
                                 "last to a collective is not known",
                                 facts_.worldSize,
                                 missing == 1 ? "one is" : fmt::format("{} are", missing))});
    }
    for (const std::string& note : notes_) {
      problem(file, {"warning", -1, note});
    }
    // What is true of all ranks is said once, and not for each.
    std::map<std::string, std::vector<int>> byNote;
    for (const auto& [rank, here] : job_) {
      for (const std::string& note : notesOf(here.timeline)) {
        byNote[note].push_back(rank);
      }
    }
    for (const auto& [note, ranks] : byNote) {
      const bool all = ranks.size() == job_.size();
      problem(file, {"warning", all ? -1 : ranks.front(),
                     all ? note : base::ranksText(ranks) + ": " + note});
    }
  }

  /// All of a rank, in the order of time.
  base::Status writeEvents(trace::RunFileWriter& file, int rank, const RankTimeline& timeline) {
    std::vector<TimedEvent> events = timeline.events;
    const std::vector<CallNumber>& numbers = numbers_.at(rank);
    for (std::size_t i = 0; i < timeline.calls.size(); ++i) {
      const RankCall& call = timeline.calls[i];
      TimedEvent event;
      event.step = call.step;
      event.bucket = call.bucket;
      event.detail = trace::packOperation(call.facts.operation, numbers[i].group);
      event.value = trace::packCollective(numbers[i].sequence, call.bytes());
      if (call.flew) {
        event.kind = EventKind::kCollective;
        event.beginNs = call.beginNs;
        // A span of no length would be an instant, and an instant is no collective.
        event.endNs = std::max(call.endNs, call.beginNs + 1);
        event.lane = call.lane;
        events.push_back(event);
      } else if (call.askedNs) {
        event.kind = EventKind::kCollectiveQueued;
        event.beginNs = event.endNs = *call.askedNs;
        event.lane = kDdpLane;
        events.push_back(event);
      }
    }
    std::stable_sort(events.begin(), events.end(), [](const TimedEvent& a, const TimedEvent& b) {
      // Of two that begin together the longer one is around the other.
      return a.beginNs != b.beginNs ? a.beginNs < b.beginNs : a.endNs > b.endNs;
    });
    std::size_t uncommitted = 0;
    for (const TimedEvent& timed : events) {
      Event event;
      event.startTicks = ticks(rank, timed.beginNs);
      constexpr std::uint64_t kLongest = (std::uint64_t{1} << 48) - 1;
      event.durationTicks =
          std::min(static_cast<std::uint64_t>(timed.endNs - timed.beginNs), kLongest);
      event.kind = static_cast<std::uint16_t>(timed.kind);
      event.step = timed.step;
      event.bucket = timed.bucket;
      event.detail = timed.detail;
      event.value = timed.value;
      file.addEvent(tracks_[rank] + static_cast<std::int32_t>(timed.lane), event);
      ++written_.events;
      if (++uncommitted == kCommitEvery) {
        uncommitted = 0;
        LOCKSTEP_TRY(file.commit());
      }
    }
    return file.commit();
  }

  const Job& job_;
  const JobFacts& facts_;
  std::vector<std::string> notes_;
  CallNumbers numbers_;
  std::vector<JobHost> hosts_;
  std::map<int, std::int32_t> tracks_;  // the first of each rank
  std::int32_t nextTrack_ = 0;
  WrittenJob written_;
};

}  // namespace

base::Result<WrittenJob> writeJob(const Job& job, const JobFacts& facts,
                                  const std::filesystem::path& runFile) {
  std::error_code code;
  if (runFile.has_parent_path()) {
    std::filesystem::create_directories(runFile.parent_path(), code);
    if (code) {
      return Error{ExitCode::kEnvironment,
                   "the folder of the run file cannot be made: " + code.message(),
                   runFile.string()};
    }
  }
  auto file = trace::RunFileWriter::create(runFile);
  if (!file.ok()) {
    return Error{ExitCode::kEnvironment, file.error().what, runFile.string()};
  }
  JobFacts known = facts;
  known.runFile = runFile.string();
  auto written = JobWriter(job, known).write(*file.value());
  if (!written.ok()) {
    // Closed first: an open database has files beside it.
    file.value().reset();
    for (const char* end : {"", "-wal", "-shm"}) {
      std::filesystem::remove(runFile.string() + end, code);
    }
  }
  return written;
}

}  // namespace lockstep::imports

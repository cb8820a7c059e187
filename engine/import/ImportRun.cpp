#include "engine/import/ImportRun.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/import/FlightRecorder.h"
#include "engine/import/ImportSources.h"
#include "engine/import/JobClock.h"
#include "engine/import/JoinTraces.h"
#include "engine/import/KinetoTrace.h"
#include "engine/import/NcclInspector.h"
#include "engine/import/WriteJob.h"

namespace lockstep::imports {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;

class Import {
 public:
  explicit Import(const ImportOptions& options) : options_(options) {}

  // Everything is read before anything is written: which rank a file is of, how many ranks there
  // are and how their clocks stand to each other is known only after the last. A trace is in memory
  // as its RankTimeline, which is a small part of the file.
  base::Result<ImportReport> run() {
    const auto [files, leftOut] = LOCKSTEP_TRY(sourcesOf(options_.paths));
    report_.leftOut = leftOut;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (options_.progress && !options_.progress(files[i].path, i + 1, files.size())) {
        return Error{ExitCode::kInterrupted, "interrupted", {}};
      }
      // A single file that names no rank is rank 0; of several, none can be guessed.
      const bool alone = files.size() == 1;
      LOCKSTEP_TRY(files[i].kind == FileKind::kKineto          ? takeTrace(files[i].path, alone)
                   : files[i].kind == FileKind::kNcclInspector ? takeLog(files[i].path)
                                                               : takeDump(files[i].path, alone));
    }
    LOCKSTEP_TRY(joinRanks());
    joinDumps();
    LOCKSTEP_TRY(joinLogs());
    JobFacts facts;
    facts.name = options_.name.empty() ? nameOf(options_.paths.front()) : options_.name;
    for (const fs::path& path : options_.paths) {
      facts.sources += (facts.sources.empty() ? "" : " ") + path.string();
    }
    facts.kinds = kindsText();
    // At least as many ranks as the highest that was seen.
    facts.worldSize = std::max(worldSize_, job_.empty() ? 0 : job_.rbegin()->first + 1);
    say(facts);
    auto written = LOCKSTEP_TRY(writeJob(job_, facts, options_.runFile));
    report_.ranks = job_.size();
    report_.events = written.events;
    report_.problems = std::move(written.problems);
    for (const auto& [rank, here] : job_) {
      report_.steps = std::max(report_.steps, here.timeline.steps);
    }
    return std::move(report_);
  }

 private:
  static std::string nameOf(const fs::path& path) {
    const fs::path plain = path.has_filename() ? path : path.parent_path();
    std::string name = plain.filename().string();
    // In this order: "rank0.pt.trace.json.gz" loses them from the right, one by one.
    for (const char* end : {".gz", ".json", ".trace", ".pt", ".pickle", ".pkl"}) {
      if (name.size() > std::string(end).size() && name.ends_with(end)) {
        name.resize(name.size() - std::string(end).size());
      }
    }
    return name.empty() || name == "." ? "imported" : name;
  }

  [[nodiscard]] std::string kindsText() const {
    const auto counted = [](std::size_t count, const char* what) {
      return count == 0 ? std::string() : base::countedText(count, what);
    };
    if (report_.logs > 0) {
      return counted(report_.logs, "NCCL Inspector log");
    }
    const std::string traces = counted(report_.traces, "Kineto trace");
    const std::string dumps = counted(report_.dumps, "Flight Recorder dump");
    return traces + (traces.empty() || dumps.empty() ? "" : " and ") + dumps;
  }

  base::Result<int> rankOf(const fs::path& path, std::optional<int> told, bool alone) {
    const std::optional<int> rank = told ? told : rankInName(path);
    if (rank) {
      return *rank;
    }
    if (alone) {
      rankAssumed_ = true;
      return 0;
    }
    return Error{ExitCode::kBadInput,
                 "does not say of which rank it is: put it into its name, as in rank3.json",
                 path.string()};
  }

  base::Status takeTrace(const fs::path& path, bool alone) {
    const KinetoTrace trace = LOCKSTEP_TRY(readKineto(path));
    const auto rank = LOCKSTEP_TRY(rankOf(path, trace.rank, alone));
    JobRank& here = traces_[rank].emplace_back();
    here.timeline = timelineOf(trace);
    here.hostName = trace.hostName;
    here.backend = trace.backend;
    here.device = trace.device;
    here.source = path.string();
    here.epochNs = trace.epochNs();
    here.tellsTheTime = trace.tellsTheTime();
    here.firstNs = trace.firstNs;
    here.lastNs = trace.lastNs;
    here.worldSize = trace.worldSize.value_or(0);
    ++report_.traces;
    return {};
  }

  base::Status takeDump(const fs::path& path, bool alone) {
    auto read = LOCKSTEP_TRY(readFlightDump(path));
    const int rank = LOCKSTEP_TRY(rankOf(path, std::nullopt, alone));
    if (const auto [at, isNew] = dumps_.try_emplace(rank, std::move(read)); !isNew) {
      return Error{ExitCode::kBadInput,
                   fmt::format("is of rank {}, as {} is: import one dump a rank", rank,
                               at->second.path.string()),
                   path.string()};
    }
    ++report_.dumps;
    return {};
  }

  base::Status takeLog(const fs::path& path) {
    auto read = LOCKSTEP_TRY(readInspectorLog(path));
    logs_.push_back(std::move(read));
    ++report_.logs;
    return {};
  }

  /// They tell of processes, and which rank of a trace one is they do not say.
  base::Status joinLogs() {
    if (logs_.empty()) {
      return {};
    }
    if (!job_.empty()) {
      return Error{ExitCode::kBadInput,
                   fmt::format("is a log of an NCCL Inspector, and {} is none: import the two by "
                               "themselves",
                               job_.begin()->second.source),
                   logs_.front().path.string()};
    }
    job_ = LOCKSTEP_TRY(jobOf(std::move(logs_), notes_));
    for (const auto& [rank, here] : job_) {
      worldSize_ = std::max(worldSize_, here.worldSize);
    }
    return {};
  }

  base::Status joinRanks() {
    for (auto& [rank, traces] : traces_) {
      auto joined = LOCKSTEP_TRY(joinTraces(rank, std::move(traces)));
      worldSize_ = std::max(worldSize_, joined.worldSize);
      job_[rank] = std::move(joined);
    }
    return {};
  }

  /// Ranks without a trace are shown by their dump.
  void joinDumps() {
    for (const auto& [rank, dump] : dumps_) {
      // A dump does not say the size of the job, but its groups name ranks: the highest one counts.
      for (const auto& [name, group] : dump.groups) {
        for (const int member : group.ranks) {
          worldSize_ = std::max(worldSize_, std::min(member, kMostRanks - 1) + 1);
        }
      }
      if (job_.contains(rank)) {
        continue;
      }
      JobRank& here = job_[rank];
      here.timeline = timelineOf(dump);
      here.source = dump.path.string();
      // The recorder writes ns since 1970. A dump names no host, so each rank gets a clock of its
      // own.
      here.tellsTheTime = true;
      for (const RankCall& call : here.timeline.calls) {
        here.firstNs = here.firstNs == 0 ? *call.askedNs : std::min(here.firstNs, *call.askedNs);
        here.lastNs = std::max({here.lastNs, *call.askedNs, call.endNs});
      }
    }
  }

  void say(JobFacts& facts) {
    for (const FlightFinding& finding : findingsOf(dumps_)) {
      facts.problems.push_back({finding.isError ? "error" : "warning", finding.rank, finding.text});
    }
    for (const std::string& note : notes_) {
      facts.problems.push_back({"warning", -1, note});
    }
    for (JobProblem& gap : gapsOf(job_)) {
      facts.problems.push_back(std::move(gap));
    }
    facts.rankAssumed = rankAssumed_;
  }

  const ImportOptions& options_;
  ImportReport report_;
  Job job_;
  std::map<int, std::vector<JobRank>> traces_;
  std::map<int, FlightDump> dumps_;
  std::vector<InspectorLog> logs_;
  std::vector<std::string> notes_;
  bool rankAssumed_ = false;
  int worldSize_ = 0;
};

}  // namespace

base::Result<ImportReport> importRun(const ImportOptions& options) {
  return Import(options).run();
}

}  // namespace lockstep::imports

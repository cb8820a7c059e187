#include "engine/import/ImportRun.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <system_error>
#include <utility>

#include "engine/import/FlightRecorder.h"
#include "engine/import/JobClock.h"
#include "engine/import/KinetoTrace.h"
#include "engine/import/WriteJob.h"

namespace lockstep::imports {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ExitCode;

constexpr std::size_t kMostFiles = 100'000;
constexpr int kMostRanks = 1 << 20;

struct Source {
  fs::path path;
  FileKind kind{};
};

struct Sources {
  std::vector<Source> files;
  std::size_t leftOut = 0;
};

/// The files of the paths, in the order of their names within a folder.
base::Result<Sources> sourcesOf(const std::vector<fs::path>& paths) {
  Sources sources;
  for (const fs::path& path : paths) {
    std::error_code code;
    if (!fs::is_directory(path, code)) {
      auto kind = kindOf(path);
      if (!kind.ok()) {
        return kind.error();
      }
      if (kind.value() == FileKind::kUnknown) {
        return Error{ExitCode::kBadInput,
                     "is neither a trace of torch.profiler nor a dump of a Flight Recorder",
                     path.string()};
      }
      sources.files.push_back({path, kind.value()});
      continue;
    }
    std::vector<fs::path> inside;
    for (fs::directory_iterator at(path, code), end; !code && at != end; at.increment(code)) {
      if (at->is_regular_file(code) && inside.size() < kMostFiles) {
        inside.push_back(at->path());
      }
    }
    if (code) {
      return Error{ExitCode::kBadInput, "the folder cannot be read: " + code.message(),
                   path.string()};
    }
    std::sort(inside.begin(), inside.end());
    const std::size_t before = sources.files.size();
    for (const fs::path& file : inside) {
      auto kind = kindOf(file);
      if (!kind.ok()) {
        return kind.error();
      }
      if (kind.value() == FileKind::kUnknown) {
        ++sources.leftOut;
      } else {
        sources.files.push_back({file, kind.value()});
      }
    }
    if (sources.files.size() == before) {
      return Error{ExitCode::kBadInput,
                   "the folder holds no traces of torch.profiler and no dumps of a Flight Recorder",
                   path.string()};
    }
  }
  if (sources.files.empty()) {
    return Error{ExitCode::kBadInput, "needs at least one file or folder", "import"};
  }
  return sources;
}

/// "rank3", "rank_3", "worker-3", or a number at the end, "fr_3.json": as people, PyTorch's handlers
/// and its Flight Recorder name files.
std::optional<int> rankInName(const fs::path& path) {
  static const std::regex kRank("(?:rank|worker)[-_.]?([0-9]{1,7})", std::regex::icase);
  static const std::regex kEnd("[-_.]([0-9]{1,5})(?:[.][a-z.]*)?$", std::regex::icase);
  const std::string name = path.filename().string();
  std::optional<int> rank;
  for (std::sregex_iterator at(name.begin(), name.end(), kRank), end; at != end; ++at) {
    rank = std::stoi((*at)[1].str());
  }
  if (std::smatch found; !rank && std::regex_search(name, found, kEnd)) {
    rank = std::stoi(found[1].str());
  }
  return rank && *rank < kMostRanks ? rank : std::nullopt;
}

class Import {
 public:
  explicit Import(const ImportOptions& options) : options_(options) {}

  base::Result<ImportReport> run() {
    auto sources = sourcesOf(options_.paths);
    if (!sources.ok()) {
      return sources.error();
    }
    report_.leftOut = sources.value().leftOut;
    const auto& files = sources.value().files;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (options_.progress && !options_.progress(files[i].path, i + 1, files.size())) {
        return Error{ExitCode::kInterrupted, "interrupted", {}};
      }
      const base::Status taken = files[i].kind == FileKind::kKineto
                                     ? takeTrace(files[i].path, files.size() == 1)
                                     : takeDump(files[i].path, files.size() == 1);
      if (!taken.ok()) {
        return taken.error();
      }
    }
    joinDumps();
    JobFacts facts;
    facts.name = options_.name.empty() ? nameOf(options_.paths.front()) : options_.name;
    for (const fs::path& path : options_.paths) {
      facts.sources += (facts.sources.empty() ? "" : " ") + path.string();
    }
    facts.kinds = kindsText();
    facts.worldSize = std::max(worldSize_, job_.empty() ? 0 : job_.rbegin()->first + 1);
    say(facts);
    auto written = writeJob(job_, facts, options_.runFile);
    if (!written.ok()) {
      return written.error();
    }
    report_.ranks = job_.size();
    report_.events = written.value().events;
    report_.problems = std::move(written.value().problems);
    for (const auto& [rank, here] : job_) {
      report_.steps = std::max(report_.steps, here.timeline.steps);
    }
    return std::move(report_);
  }

 private:
  static std::string nameOf(const fs::path& path) {
    const fs::path plain = path.has_filename() ? path : path.parent_path();
    std::string name = plain.filename().string();
    for (const char* end : {".gz", ".json", ".trace", ".pt", ".pickle", ".pkl"}) {
      if (name.size() > std::string(end).size() && name.ends_with(end)) {
        name.resize(name.size() - std::string(end).size());
      }
    }
    return name.empty() || name == "." ? "imported" : name;
  }

  [[nodiscard]] std::string kindsText() const {
    const auto counted = [](std::size_t count, const char* what) {
      return count == 0 ? std::string()
                        : fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
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
    auto read = readKineto(path);
    if (!read.ok()) {
      return read.error();
    }
    const KinetoTrace& trace = read.value();
    const auto rank = rankOf(path, trace.rank, alone);
    if (!rank.ok()) {
      return rank.error();
    }
    if (job_.contains(rank.value())) {
      return Error{ExitCode::kBadInput,
                   fmt::format("is of rank {}, as {} is: import one trace a rank", rank.value(),
                               job_[rank.value()].source),
                   path.string()};
    }
    JobRank& here = job_[rank.value()];
    here.timeline = timelineOf(trace);
    here.hostName = trace.hostName;
    here.backend = trace.backend;
    here.device = trace.device;
    here.source = path.string();
    here.epochNs = trace.epochNs();
    here.tellsTheTime = trace.tellsTheTime();
    here.firstNs = trace.firstNs;
    here.lastNs = trace.lastNs;
    worldSize_ = std::max(worldSize_, trace.worldSize.value_or(0));
    ++report_.traces;
    return {};
  }

  base::Status takeDump(const fs::path& path, bool alone) {
    auto read = readFlightDump(path);
    if (!read.ok()) {
      return read.error();
    }
    const auto rank = rankOf(path, std::nullopt, alone);
    if (!rank.ok()) {
      return rank.error();
    }
    if (const auto [at, isNew] = dumps_.try_emplace(rank.value(), std::move(read).value());
        !isNew) {
      return Error{ExitCode::kBadInput,
                   fmt::format("is of rank {}, as {} is: import one dump a rank", rank.value(),
                               at->second.path.string()),
                   path.string()};
    }
    ++report_.dumps;
    return {};
  }

  /// Ranks without a trace are shown by their dump.
  void joinDumps() {
    for (const auto& [rank, dump] : dumps_) {
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
    facts.rankAssumed = rankAssumed_;
  }

  const ImportOptions& options_;
  ImportReport report_;
  Job job_;
  std::map<int, FlightDump> dumps_;
  bool rankAssumed_ = false;
  int worldSize_ = 0;
};

}  // namespace

base::Result<ImportReport> importRun(const ImportOptions& options) {
  return Import(options).run();
}

}  // namespace lockstep::imports

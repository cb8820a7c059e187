#include "engine/export/TraceFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <type_traits>

#include "engine/base/Try.h"
#include "engine/export/JsonText.h"

namespace lockstep::exports {
namespace {

// Numbers of threads, apart from those of processes: Perfetto takes equal ones for main threads.
constexpr int kFirstThread = 100'000;

void addFact(std::string& text, const std::string& key, const std::string& value) {
  text += text.back() == '{' ? "" : ",";
  appendQuoted(text, key);
  text += ':';
  appendQuoted(text, value);
}

void addFacts(std::string& text, const Survey& survey, TraceReader reader) {
  const trace::RunInfo& info = survey.info;
  text += "\"lockstep\":{";
  addFact(text, "run", info.name);
  addFact(text, "run id", info.runId);
  addFact(text, "state", std::string(trace::name(info.state)));
  if (!info.failure.empty()) {
    addFact(text, "failure", info.failure);
  }
  addFact(text, "host", info.hostName);
  addFact(text, "started at", info.startedAt);
  addFact(text, "clock", "CLOCK_MONOTONIC of the host, which is no time of day");
  for (const trace::HostState& host : survey.hosts) {
    if (host.info.host != trace::kRecordingHost && host.offset) {
      addFact(text, "clock of " + host.info.name,
              trace::text(*host.offset) + ", taken off the times here");
    }
  }
  if (reader == TraceReader::kHta) {
    addFact(text, "streams",
            "the rows with a stream are no CUDA streams: they repeat, on whole µs, when each rank "
            "computed and communicated, for Holistic Trace Analysis");
  }
  text += "},\n";
}

void writeHead(TraceFile& file, const Survey& survey, const SpanArguments& arguments,
               TraceReader reader, int rank) {
  std::string& text = file.file().buffer();
  text += "{\n\"schemaVersion\":1,\n\"deviceProperties\":[],\n\"distributedInfo\":{\"backend\":";
  appendQuoted(text, survey.backend());
  // A reader that wants a rank must not take all of them for one.
  if (rank >= 0 || survey.selectedRanks.size() == 1) {
    text += fmt::format(",\"rank\":{}", rank >= 0 ? rank : *survey.selectedRanks.begin());
  }
  text += fmt::format(",\"world_size\":{},\"pg_count\":{},\"pg_config\":{}}},\n",
                      survey.info.worldSize, survey.groups.size(), arguments.groupsAsJson());
  text += fmt::format("\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":{},\n",
                      survey.clock.toNs(survey.beginTicks));
  addFacts(text, survey, reader);
  text += "\"traceEvents\":[";
}

template <typename Value>
void writeMetadata(TraceFile& file, const char* name, int process, int thread, const char* key,
                   const Value& value) {
  std::string& text = file.begin();
  text += fmt::format(R"({{"ph":"M","name":"{}","ts":0,"pid":{},"tid":{},"args":{{"{}":)", name,
                      process, thread, key);
  if constexpr (std::is_integral_v<Value>) {
    appendNumber(text, value);
  } else {
    appendQuoted(text, value);
  }
  text += '}';
  file.end();
}

void writeProcess(TraceFile& file, const Survey& survey, int rank) {
  std::string name = fmt::format("rank {}", rank);
  std::string labels = survey.backend();
  for (const trace::RankInfo& info : survey.ranks) {
    if (info.rank != rank) {
      continue;
    }
    labels += fmt::format(", pid {}, {}", info.pid, info.state);
    if (const trace::HostState* host = survey.hostOf(info)) {
      name += " on " + host->info.name;
      if (info.host != trace::kRecordingHost && host->offset) {
        labels += ", clock " + text(*host->offset);
      }
    }
  }
  const int process = processOf(rank);
  writeMetadata(file, "process_name", process, 0, "name", name);
  writeMetadata(file, "process_labels", process, 0, "labels", labels);
  writeMetadata(file, "process_sort_index", process, 0, "sort_index", rank);
}

}  // namespace

std::vector<std::filesystem::path> tracesBeside(const std::vector<std::filesystem::path>& written,
                                                const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    const bool trace = name.find(".rank") != std::string::npos &&
                       (name.ends_with(".json") || name.ends_with(".json.gz"));
    if (trace && std::find(written.begin(), written.end(), entry->path()) == written.end()) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

int processOf(int rank) {
  return rank + 1;
}

base::Status TraceFiles::open(const Survey& survey, const SpanArguments& arguments,
                              TraceReader reader,
                              const std::vector<std::pair<std::filesystem::path, int>>& files) {
  joined_ = files.size() == 1 && files.front().second < 0;
  for (const auto& [path, rank] : files) {
    auto output = LOCKSTEP_TRY(OutputFile::create(path));
    TraceFile& file = *files_.emplace_back(std::make_unique<TraceFile>(std::move(output)));
    writeHead(file, survey, arguments, reader, rank);
    for (const int each : survey.selectedRanks) {
      if (rank < 0 || each == rank) {
        ofRank_[each] = &file;
        writeProcess(file, survey, each);
      }
    }
  }
  return {};
}

TraceFile* TraceFiles::of(int rank) const {
  const auto at = ofRank_.find(rank);
  return at == ofRank_.end() ? nullptr : at->second;
}

std::size_t TraceFiles::addRow(int rank, const std::string& name, int order) {
  Row& row = rows_.emplace_back();
  row.file = ofRank_.at(rank);
  const int process = processOf(rank);
  const int thread = kFirstThread + static_cast<int>(rows_.size()) - 1;
  row.place = fmt::format(R"(,"pid":{},"tid":{})", process, thread);
  writeMetadata(*row.file, "thread_name", process, thread, "name", name);
  writeMetadata(*row.file, "thread_sort_index", process, thread, "sort_index", order);
  return rows_.size() - 1;
}

base::Status TraceFiles::status() {
  for (const auto& file : files_) {
    if (!file->file().ok()) {
      return file->file().close();
    }
  }
  return {};
}

base::Status TraceFiles::commit(TraceReport& report) {
  for (const auto& file : files_) {
    file->file().write("\n]}\n");
    // All are closed before the first gets its name: a disk that is full by the last one leaves
    // none.
    LOCKSTEP_TRY(file->file().close());
  }
  for (const auto& file : files_) {
    LOCKSTEP_TRY(file->file().commit());
    report.bytes += file->file().bytes();
    report.files.push_back(file->file().path());
  }
  return {};
}

}  // namespace lockstep::exports

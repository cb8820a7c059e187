#include "engine/export/ChromeTrace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "engine/export/CollectiveFlows.h"
#include "engine/export/HtaKernels.h"
#include "engine/export/JsonText.h"
#include "engine/export/Nesting.h"
#include "engine/export/OutputFile.h"
#include "engine/export/SpanArguments.h"

namespace lockstep::exports {
namespace {

using trace::EventKind;
using trace::SpanRow;

// Numbers of threads, apart from those of processes: Perfetto takes equal ones for main threads.
constexpr int kFirstThread = 100'000;
constexpr int kRowsOfALane = 1'000;  // sort indices of a lane's rows
constexpr int kComputeStream = 7;    // where PyTorch computes on a GPU
constexpr int kFirstCommunicationStream = 20;
constexpr double kSurveyPart = 0.25;

int processOf(int rank) {
  return rank + 1;
}

/// One trace file and what stands between its brackets.
class TraceFile {
 public:
  explicit TraceFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  /// Starts an event; what follows goes to the returned text, up to `end`.
  std::string& begin() {
    std::string& text = file_->buffer();
    text += first_ ? "\n" : ",\n";
    first_ = false;
    return text;
  }
  void end() { file_->write("}"); }
  OutputFile& file() { return *file_; }

 private:
  std::unique_ptr<OutputFile> file_;
  bool first_ = true;
};

/// A row of a lane: a thread of the trace.
struct Row {
  TraceFile* file = nullptr;
  std::string place;  // ,"pid":1,"tid":100000
};

struct Lane {
  trace::TrackInfo track;
  int order = 0;
  NestingRows nesting;
  std::vector<std::size_t> rows;  // indices into TraceWriter::rows_
};

/// One line to be: a span with its times since the begin of the export.
struct Line {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t row = 0;
  const SpanRow* span = nullptr;
};

class TraceWriter {
 public:
  TraceWriter(const Survey& survey, const TraceOptions& options)
      : survey_(survey),
        options_(options),
        arguments_(survey),
        beginNs_(survey.clock.toNs(survey.beginTicks)),
        flows_([this](const std::vector<FlowPoint>& points) { writeFlow(points); }) {}

  base::Result<TraceReport> write(const std::vector<std::pair<std::filesystem::path, int>>& files,
                                  const Progress& progress) {
    if (base::Status opened = open(files); !opened.ok()) {
      return opened.error();
    }
    report_.events = survey_.spans;
    report_.ranks = survey_.selectedRanks.size();
    base::Status written =
        eachBlock(survey_, progress, kSurveyPart,
                  [this](trace::RunUpdate& update) { return writeBlock(update); });
    if (!written.ok()) {
      return written.error();
    }
    if (joined_) {
      flows_.finish();
    }
    if (options_.reader == TraceReader::kHta) {
      writeKernels();
    }
    for (const auto& file : files_) {
      file->file().write("\n]}\n");
    }
    return commit();
  }

 private:
  /// `files` with the rank of each; -1: all ranks.
  base::Status open(const std::vector<std::pair<std::filesystem::path, int>>& files) {
    joined_ = files.size() == 1 && files.front().second < 0;
    for (const auto& [path, rank] : files) {
      auto output = OutputFile::create(path);
      if (!output.ok()) {
        return output.error();
      }
      TraceFile& file =
          *files_.emplace_back(std::make_unique<TraceFile>(std::move(output).value()));
      writeHeader(file, rank);
      for (const int each : survey_.selectedRanks) {
        if (rank < 0 || each == rank) {
          fileOf_[each] = &file;
          writeProcess(file, each);
        }
      }
    }
    for (const trace::TrackInfo& track : survey_.tracks) {
      Lane& lane = lanes_[track.id];
      lane.track = track;
      lane.order = nextOrder_[track.rank]++;
      addRow(lane);
    }
    return {};
  }

  void writeHeader(TraceFile& file, int rank) {
    std::string& text = file.file().buffer();
    text += "{\n\"schemaVersion\":1,\n\"deviceProperties\":[],\n\"distributedInfo\":{\"backend\":";
    appendQuoted(text, survey_.backend());
    // A reader that wants a rank must not take all of them for one.
    const auto& ranks = survey_.selectedRanks;
    if (rank >= 0 || ranks.size() == 1) {
      text += fmt::format(",\"rank\":{}", rank >= 0 ? rank : *ranks.begin());
    }
    text += fmt::format(",\"world_size\":{},\"pg_count\":{},\"pg_config\":{}}},\n",
                        survey_.info.worldSize, survey_.groups.size(), arguments_.groupsAsJson());
    text += fmt::format("\"displayTimeUnit\":\"ms\",\n\"baseTimeNanoseconds\":{},\n", beginNs_);
    writeFacts(text);
    text += "\"traceEvents\":[";
  }

  void writeFacts(std::string& text) {
    const auto fact = [&](const char* key, const std::string& value) {
      text += text.back() == '{' ? "\"" : ",\"";
      text += key;
      text += "\":";
      appendQuoted(text, value);
    };
    text += "\"lockstep\":{";
    fact("run", survey_.info.name);
    fact("run id", survey_.info.runId);
    fact("state", std::string(trace::name(survey_.info.state)));
    if (!survey_.info.failure.empty()) {
      fact("failure", survey_.info.failure);
    }
    fact("host", survey_.info.hostName);
    fact("started at", survey_.info.startedAt);
    fact("clock", "CLOCK_MONOTONIC of the host, which is no time of day");
    if (options_.reader == TraceReader::kHta) {
      fact("streams",
           "the rows with a stream are no CUDA streams: they repeat, on whole µs, when each rank "
           "computed and communicated, for Holistic Trace Analysis");
    }
    text += "},\n";
  }

  void writeProcess(TraceFile& file, int rank) {
    std::string labels = survey_.backend();
    for (const trace::RankInfo& info : survey_.ranks) {
      if (info.rank == rank) {
        labels += fmt::format(", pid {}, {}", info.pid, info.state);
      }
    }
    metadata(file, "process_name", processOf(rank), 0, "name", fmt::format("rank {}", rank));
    metadata(file, "process_labels", processOf(rank), 0, "labels", labels);
    metadata(file, "process_sort_index", processOf(rank), 0, "sort_index", rank);
  }

  template <typename Value>
  static void metadata(TraceFile& file, const char* name, int process, int thread, const char* key,
                       const Value& value) {
    std::string& text = file.begin();
    text += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"{}\",\"ts\":0,\"pid\":{},\"tid\":{},\"args\":"
        "{{\"{}\":",
        name, process, thread, key);
    if constexpr (std::is_integral_v<Value>) {
      appendNumber(text, value);
    } else {
      appendQuoted(text, value);
    }
    text += '}';
    file.end();
  }

  std::size_t addThread(int rank, const std::string& name, int order) {
    Row& row = rows_.emplace_back();
    row.file = fileOf_.at(rank);
    const int thread = kFirstThread + static_cast<int>(rows_.size()) - 1;
    row.place = fmt::format(",\"pid\":{},\"tid\":{}", processOf(rank), thread);
    metadata(*row.file, "thread_name", processOf(rank), thread, "name", name);
    metadata(*row.file, "thread_sort_index", processOf(rank), thread, "sort_index", order);
    return rows_.size() - 1;
  }

  void addRow(Lane& lane) {
    const std::size_t number = lane.rows.size();
    const std::string name =
        number == 0 ? lane.track.name : fmt::format("{} ({})", lane.track.name, number + 1);
    lane.rows.push_back(
        addThread(lane.track.rank, name, lane.order * kRowsOfALane + static_cast<int>(number)));
  }

  std::int64_t sinceBegin(std::uint64_t ticks) const {
    return std::max<std::int64_t>(survey_.clock.toNs(ticks) - beginNs_, 0);
  }

  base::Status writeBlock(trace::RunUpdate& update) {
    ++block_;
    lines_.clear();
    for (const SpanRow& span : update.spans) {
      if (lanes_.contains(span.track)) {
        lines_.push_back({sinceBegin(span.startTicks),
                          sinceBegin(span.startTicks + span.durationTicks), 0, &span});
      }
    }
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      return a.end != b.end ? a.end < b.end : a.begin > b.begin;
    });
    for (Line& line : lines_) {
      Lane& lane = lanes_.find(line.span->track)->second;
      std::size_t row = 0;
      if (line.end > line.begin) {
        row = lane.nesting.take(line.begin, line.end, block_);
        while (lane.rows.size() <= row) {
          addRow(lane);
        }
      }
      line.row = lane.rows[row];
    }
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    for (const Line& line : lines_) {
      writeSpan(line);
    }
    for (const trace::MetricRow& metric : update.metrics) {
      writeMetric(metric);
    }
    for (const auto& file : files_) {
      if (!file->file().ok()) {
        return file->file().commit();
      }
    }
    return {};
  }

  void writeSpan(const Line& line) {
    const SpanRow& span = *line.span;
    Row& row = rows_[line.row];
    std::string& text = row.file->begin();
    const bool slice = line.end > line.begin;
    text += slice ? "{\"ph\":\"X\",\"cat\":" : "{\"ph\":\"i\",\"s\":\"t\",\"cat\":";
    text += isAnnotation(span.kind) ? "\"user_annotation\",\"name\":" : "\"cpu_op\",\"name\":";
    if (span.kind == EventKind::kStep && options_.reader == TraceReader::kHta) {
      text += "\"step\"";
    } else {
      arguments_.appendName(text, span);
    }
    text += row.place;
    text += ",\"ts\":";
    appendMicroseconds(text, line.begin);
    if (slice) {
      text += ",\"dur\":";
      appendMicroseconds(text, line.end - line.begin);
    }
    text += ",\"args\":{";
    arguments_.appendArguments(text, span);
    text += '}';
    row.file->end();
    if (joined_ && slice && span.kind == EventKind::kCollective) {
      flows_.add(span, {lanes_.find(span.track)->second.track.rank, line.begin, line.row});
    }
  }

  /// What Kineto calls so: the marks that a training loop sets, around what it runs.
  static bool isAnnotation(EventKind kind) {
    switch (kind) {
      case EventKind::kStep:
      case EventKind::kStartup:
      case EventKind::kData:
      case EventKind::kForward:
      case EventKind::kBackward:
      case EventKind::kOptimizer:
      case EventKind::kEvaluate:
      case EventKind::kCheckpoint:
      case EventKind::kFault:
      case EventKind::kGap:
        return true;
      default:
        return false;
    }
  }

  void writeFlow(const std::vector<FlowPoint>& points) {
    ++flowId_;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const char phase = i == 0 ? 's' : i + 1 == points.size() ? 'f' : 't';
      Row& row = rows_[points[i].place];
      std::string& text = row.file->begin();
      text += "{\"ph\":\"";
      text += phase;
      text += "\",\"cat\":\"collective\",\"name\":\"collective\",\"bp\":\"e\",\"id\":";
      appendNumber(text, flowId_);
      text += row.place;
      text += ",\"ts\":";
      appendMicroseconds(text, points[i].ns);
      row.file->end();
    }
  }

  void writeMetric(const trace::MetricRow& metric) {
    const auto at = fileOf_.find(metric.rank);
    if (at == fileOf_.end() || metric.ticks == 0) {
      return;
    }
    TraceFile& file = *at->second;
    std::string& text = file.begin();
    const bool known = std::isfinite(metric.value);  // JSON has no other numbers
    text += known ? "{\"ph\":\"C\",\"name\":"
                  : "{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"cpu_op\",\"name\":";
    appendQuoted(text, known ? metric.name : metric.name + " is not finite");
    text += fmt::format(",\"pid\":{},\"tid\":0,\"ts\":", processOf(metric.rank));
    appendMicroseconds(text, sinceBegin(metric.ticks));
    text += ",\"args\":{";
    appendQuoted(text, known ? metric.name : "step");
    text += ':';
    if (known) {
      appendReal(text, metric.value);
    } else {
      appendNumber(text, metric.step);
    }
    text += '}';
    file.end();
  }

  void writeKernels() {
    for (const HtaRank& rank : htaRanks(survey_, beginNs_)) {
      if (!fileOf_.contains(rank.rank)) {
        continue;
      }
      report_.overlaps.push_back({rank.rank, rank.steps, rank.overlapPercent()});
      writeKernels(rank.rank, rank.computing, kComputeStream, "computing (no CUDA stream)");
      writeKernels(rank.rank, rank.communication, kFirstCommunicationStream,
                   "communication (no CUDA stream)");
    }
  }

  void writeKernels(int rank, const std::vector<HtaKernel>& kernels, int firstStream,
                    const std::string& name) {
    std::vector<std::size_t> rows;
    for (const HtaKernel& kernel : kernels) {
      while (rows.size() <= kernel.row) {
        const auto stream = firstStream + static_cast<int>(rows.size());
        const int order = nextOrder_[rank]++ * kRowsOfALane;
        rows.push_back(addThread(rank, fmt::format("stream {} {}", stream, name), order));
      }
      Row& row = rows_[rows[kernel.row]];
      std::string& text = row.file->begin();
      text += "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":";
      appendQuoted(text, kernel.name());
      text += row.place;
      text += fmt::format(
          ",\"ts\":{}.000,\"dur\":{}.000,\"args\":{{\"stream\":{},"
          "\"no CUDA stream\":true",
          kernel.beginUs, kernel.endUs - kernel.beginUs,
          firstStream + static_cast<int>(kernel.row));
      if (kernel.span != nullptr) {
        text += fmt::format(",\"step\":{}", kernel.span->step);
        if (kernel.span->kind == EventKind::kCollective) {
          arguments_.appendCollective(text, *kernel.span);
        }
      }
      text += '}';
      row.file->end();
    }
  }

  base::Result<TraceReport> commit() {
    // A file that cannot be finished must not leave others of the same export.
    for (const auto& file : files_) {
      if (base::Status closed = file->file().close(); !closed.ok()) {
        return closed.error();
      }
    }
    for (const auto& file : files_) {
      if (base::Status named = file->file().commit(); !named.ok()) {
        return named.error();
      }
      report_.bytes += file->file().bytes();
      report_.files.push_back(file->file().path());
    }
    return std::move(report_);
  }

  const Survey& survey_;
  const TraceOptions& options_;
  SpanArguments arguments_;
  std::int64_t beginNs_;
  bool joined_ = false;
  std::vector<std::unique_ptr<TraceFile>> files_;
  std::map<int, TraceFile*> fileOf_;  // by rank
  std::unordered_map<std::int32_t, Lane> lanes_;
  std::map<int, int> nextOrder_;  // of the lanes of a rank
  std::vector<Row> rows_;
  std::vector<Line> lines_;
  std::uint64_t block_ = 0;
  CollectiveFlows flows_;
  std::int64_t flowId_ = 0;
  TraceReport report_;
};

base::Result<Survey> surveyFor(const std::filesystem::path& run, const TraceOptions& options,
                               const Progress& progress) {
  const Depth depth = options.reader == TraceReader::kHta ? Depth::kAnalysis : Depth::kNames;
  return survey(run, options.selection, depth, progress, kSurveyPart);
}

}  // namespace

base::Result<TraceReport> writeTrace(const std::filesystem::path& run,
                                     const std::filesystem::path& file, const TraceOptions& options,
                                     const Progress& progress) {
  const auto surveyed = surveyFor(run, options, progress);
  if (!surveyed.ok()) {
    return surveyed.error();
  }
  return TraceWriter(surveyed.value(), options).write({{file, -1}}, progress);
}

base::Result<TraceReport> writeTracePerRank(const std::filesystem::path& run,
                                            const std::filesystem::path& folder,
                                            const TraceOptions& options, const Progress& progress) {
  const auto surveyed = surveyFor(run, options, progress);
  if (!surveyed.ok()) {
    return surveyed.error();
  }
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return base::Error{base::ExitCode::kEnvironment, "the folder cannot be made: " + code.message(),
                       folder.string()};
  }
  std::vector<std::pair<std::filesystem::path, int>> files;
  for (const int rank : surveyed.value().selectedRanks) {
    files.emplace_back(folder / fmt::format("{}.rank{}.json", run.stem().string(), rank), rank);
  }
  return TraceWriter(surveyed.value(), options).write(files, progress);
}

}  // namespace lockstep::exports

#include "engine/export/ChromeTrace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "engine/base/Try.h"
#include "engine/export/CollectiveFlows.h"
#include "engine/export/HtaKernels.h"
#include "engine/export/JsonText.h"
#include "engine/export/Nesting.h"
#include "engine/export/SelectedRows.h"
#include "engine/export/SpanArguments.h"
#include "engine/export/TraceFile.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::exports {
namespace {

using trace::EventKind;
using trace::SpanRow;

constexpr int kRowsOfALane = 1'000;  // sort indices of a lane's rows
constexpr int kComputeStream = 7;    // where PyTorch computes on a GPU
constexpr int kFirstCommunicationStream = 20;

// Of the progress of an export for HTA.
constexpr double kSpansShare = 0.6;             // of what follows the survey
constexpr double kKernelsPart = 0.8;            // while these are written
constexpr std::size_t kKernelsBetween = 4'096;  // questions whether to go on

struct Lane {
  trace::TrackInfo track;
  int order = 0;
  NestingRows nesting;
  std::vector<std::size_t> rows;  // of TraceFiles
};

/// One line to be: a span with its times since the begin of the export.
struct Line {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t row = 0;
  const SpanRow* span = nullptr;
};

// Note [Lines of a trace]
// A block of spans becomes lines in two sortings. By end, which is the order in which NestingRows
// takes slices: what a slice holds comes before it. So each finds its row, and a lane that needs
// another one gets it now, with its metadata in the file before its first slice. Then by begin, the
// order in which readers want lines: what holds others comes before them.
//
//       spans     A [0, 9)   B [1, 3)   C [2, 5)
//       by end    B: row 0   C: begins inside B, row 1   A: holds B, row 0
//       by begin  A, B in row 0; C in "comm (2)"
//
// Of two slices that begin together the one that holds the other must be written first, so that
// both must be of one block: NestingRows knows the block of each.

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
    base::Status done = files_.open(survey_, arguments_, options_.reader, files);
    if (!done.ok()) {
      return done.error();
    }
    for (const trace::TrackInfo& track : survey_.tracks) {
      if (!survey_.selection.holdsRank(track.rank)) {
        continue;
      }
      // Rows in the order of the lanes, as the studio has them; further rows of a lane come right
      // below it (kRowsOfALane).
      Lane& lane = lanes_[track.id];
      lane.track = track;
      lane.order = nextOrder_[track.rank]++;
      addRow(lane);
    }
    const bool hta = options_.reader == TraceReader::kHta;
    const Progress ofSpans = [&](double part) {
      return goesOn(progress, hta ? kSurveyPart + kSpansShare * (part - kSurveyPart) : part);
    };
    done = eachBlock(
        survey_, ofSpans, [this](trace::RunUpdate& update) { return writeBlock(update); },
        options_.blockSpans);
    if (!done.ok()) {
      return done.error();
    }
    flows_.finish();
    if ((hta && !writeKernels(progress)) || !goesOn(progress, 1)) {
      return interrupted();
    }
    report_.events = survey_.spans;
    report_.ranks = survey_.selectedRanks.size();
    done = files_.commit(report_);
    return done.ok() ? base::Result<TraceReport>(std::move(report_)) : done.error();
  }

 private:
  void addRow(Lane& lane) {
    const std::size_t number = lane.rows.size();
    const std::string name =
        number == 0 ? lane.track.name : fmt::format("{} ({})", lane.track.name, number + 1);
    lane.rows.push_back(
        files_.addRow(lane.track.rank, name, lane.order * kRowsOfALane + static_cast<int>(number)));
  }

  std::int64_t sinceBegin(std::uint64_t ticks) const {
    // A span that reaches in from before the export is cut at its begin: there are no times below
    // 0.
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
      // An instant fits anywhere: row 0.
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
    return files_.status();
  }

  void writeSpan(const Line& line) {
    const SpanRow& span = *line.span;
    const TraceFiles::Row& row = files_.row(line.row);
    std::string& text = row.file->begin();
    const bool slice = line.end > line.begin;
    text += slice ? "{\"ph\":\"X\",\"cat\":" : "{\"ph\":\"i\",\"s\":\"t\",\"cat\":";
    text += run::has(span.kind, run::kOfScript) ? "\"user_annotation\",\"name\":"
                                                : "\"cpu_op\",\"name\":";
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
    if (files_.joined() && slice && span.kind == EventKind::kCollective) {
      flows_.add(span, {lanes_.find(span.track)->second.track.rank, line.begin, line.row});
    }
  }

  void writeFlow(const std::vector<FlowPoint>& points) {
    ++flowId_;
    for (std::size_t i = 0; i < points.size(); ++i) {
      // Start, step, finish of the flow; "bp":"e" binds each to the slice around it.
      const char phase = i == 0 ? 's' : i + 1 == points.size() ? 'f' : 't';
      const TraceFiles::Row& row = files_.row(points[i].place);
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
    TraceFile* file = files_.of(metric.rank);
    // No time was recorded with it: it has no place in a trace.
    if (file == nullptr || metric.ticks == 0) {
      return;
    }
    std::string& text = file->begin();
    const bool known = std::isfinite(metric.value);  // JSON has no other numbers
    text += known ? "{\"ph\":\"C\",\"name\":"
                  : "{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"cpu_op\",\"name\":";
    appendQuoted(text, known ? metric.name : metric.name + " is not finite");
    text += fmt::format(",\"pid\":{},\"tid\":0,\"ts\":", processOf(metric.rank));
    appendMicroseconds(text, sinceBegin(metric.ticks));
    text += ",\"args\":{";
    text += known ? "\"value\":" : "\"step\":";  // Perfetto adds any other key to the name
    if (known) {
      appendReal(text, metric.value);
    } else {
      appendNumber(text, metric.step);
    }
    text += '}';
    file->end();
  }

  /// False: the export was ended.
  bool writeKernels(const Progress& progress) {
    const std::vector<HtaRank> ranks = htaRanks(survey_, beginNs_);
    for (const HtaRank& rank : ranks) {
      if (files_.of(rank.rank) == nullptr) {
        continue;
      }
      report_.overlaps.push_back({rank.rank, rank.steps, rank.overlapPercent()});
      if (!goesOn(progress, kKernelsPart) ||
          !writeKernels(rank.rank, rank.computing, kComputeStream, "computing (no CUDA stream)",
                        progress) ||
          !writeKernels(rank.rank, rank.communication, kFirstCommunicationStream,
                        "communication (no CUDA stream)", progress)) {
        return false;
      }
    }
    return true;
  }

  bool writeKernels(int rank, const std::vector<HtaKernel>& kernels, int firstStream,
                    const std::string& name, const Progress& progress) {
    std::vector<std::size_t> rows;
    std::size_t written = 0;
    for (const HtaKernel& kernel : kernels) {
      if (++written % kKernelsBetween == 0 && !goesOn(progress, kKernelsPart)) {
        return false;
      }
      while (rows.size() <= kernel.row) {
        const auto stream = firstStream + static_cast<int>(rows.size());
        const int order = nextOrder_[rank]++ * kRowsOfALane;
        rows.push_back(files_.addRow(rank, fmt::format("stream {} {}", stream, name), order));
      }
      const TraceFiles::Row& row = files_.row(rows[kernel.row]);
      std::string& text = row.file->begin();
      text += "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":";
      appendQuoted(text, kernel.name());
      text += row.place;
      text += fmt::format(
          ",\"ts\":{}.000,\"dur\":{}.000,\"args\":{{\"stream\":{},"
          "\"no CUDA stream\":true",
          kernel.beginUs, kernel.endUs - kernel.beginUs,
          firstStream + static_cast<int>(kernel.row));
      if (kernel.span) {
        text += fmt::format(",\"step\":{}", kernel.span->step);
        if (kernel.span->kind == EventKind::kCollective) {
          arguments_.appendCollective(text, *kernel.span);
        }
      }
      text += '}';
      row.file->end();
    }
    return true;
  }

  const Survey& survey_;
  const TraceOptions& options_;
  SpanArguments arguments_;
  std::int64_t beginNs_;
  TraceFiles files_;
  std::unordered_map<std::int32_t, Lane> lanes_;
  std::map<int, int> nextOrder_;  // of the lanes of a rank
  std::vector<Line> lines_;
  std::uint64_t block_ = 0;
  CollectiveFlows flows_;
  std::int64_t flowId_ = 0;
  TraceReport report_;
};

base::Result<Survey> surveyFor(const std::filesystem::path& run, const TraceOptions& options,
                               const Progress& progress) {
  const Depth depth = options.reader == TraceReader::kHta ? Depth::kAnalysis : Depth::kNames;
  return survey(run, options.selection, depth, progress);
}

}  // namespace

base::Result<TraceReport> writeTrace(const std::filesystem::path& run,
                                     const std::filesystem::path& file, const TraceOptions& options,
                                     const Progress& progress) {
  const auto surveyed = LOCKSTEP_TRY(surveyFor(run, options, progress));
  return TraceWriter(surveyed, options).write({{file, -1}}, progress);
}

base::Result<TraceReport> writeTracePerRank(const std::filesystem::path& run,
                                            const std::filesystem::path& folder,
                                            const TraceOptions& options, const Progress& progress) {
  const auto surveyed = LOCKSTEP_TRY(surveyFor(run, options, progress));
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) {
    return base::Error{base::ExitCode::kEnvironment, "the folder cannot be made: " + code.message(),
                       folder.string()};
  }
  if (surveyed.selectedRanks.empty()) {
    return base::Error{base::ExitCode::kBadInput, "this run holds no lanes of any rank",
                       run.string()};
  }
  std::vector<std::pair<std::filesystem::path, int>> files;
  for (const int rank : surveyed.selectedRanks) {
    files.emplace_back(folder / fmt::format("{}.rank{}.json", run.stem().string(), rank), rank);
  }
  auto report = TraceWriter(surveyed, options).write(files, progress);
  if (report.ok()) {
    report.value().others = tracesBeside(report.value().files, folder);
  }
  return report;
}

}  // namespace lockstep::exports

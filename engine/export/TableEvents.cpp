#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "engine/analysis/Durations.h"
#include "engine/analysis/SpanMeaning.h"
#include "engine/export/TableWriters.h"

// The tables that are made of spans, row by row.
namespace lockstep::exports {
namespace {

using trace::EventKind;
using trace::SpanRow;

std::unordered_map<std::int32_t, const trace::TrackInfo*> tracksById(const Survey& survey) {
  std::unordered_map<std::int32_t, const trace::TrackInfo*> found;
  for (const trace::TrackInfo& track : survey.tracks) {
    found[track.id] = &track;
  }
  return found;
}

/// What a span is beside its kind: an operation, a stage of the start-up, a fault.
std::string_view whatOf(const SpanRow& span) {
  if (analysis::namesCollective(span.kind)) {
    return trace::name(trace::operationOf(span.detail));
  }
  switch (span.kind) {
    case EventKind::kStartup:
      return trace::name(static_cast<trace::StartupStage>(span.detail));
    case EventKind::kFault:
      return trace::name(static_cast<trace::FaultKind>(span.detail));
    default:
      return {};
  }
}

void writeEvent(const TableSource& source, const SpanRow& span, const trace::TrackInfo& track,
                Csv& csv) {
  const Survey& survey = source.survey;
  csv.number(span.id).number(track.rank).text(track.name).text(trace::name(span.kind));
  csv.text(whatOf(span)).ms(source.ms(span.startTicks)).ms(source.durationMs(span.durationTicks));
  if (span.kind == EventKind::kStartup) {
    csv.nothing();
  } else {
    csv.number(span.step);
  }
  csv.bucket(span.bucket);
  if (analysis::namesCollective(span.kind)) {
    csv.number(static_cast<int>(trace::groupOf(span.detail)))
        .number(trace::collectiveSequence(span.value));
  } else {
    csv.nothing().nothing();
  }
  if (const auto bytes = analysis::bytesOf(span.kind, span.value, survey.parameters)) {
    csv.number(*bytes);
  } else {
    csv.nothing();
  }
  const auto parameter = analysis::parameterOf(span.kind, span.detail, span.value);
  if (parameter && *parameter < survey.parameters.size()) {
    csv.text(survey.parameters[*parameter].name);
  } else {
    csv.nothing();
  }
  csv.number(static_cast<int>(span.detail)).number(span.value).end();
}

}  // namespace

base::Result<std::uint64_t> writeEvents(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"id", "rank", "lane", "kind", "what", "start_ms", "duration_ms", "step", "bucket",
                 "group", "sequence", "bytes", "parameter", "detail", "value"});
  const auto tracks = tracksById(source.survey);
  const base::Status read =
      eachBlock(source.survey, source.progress, [&](trace::RunUpdate& update) -> base::Status {
        for (const SpanRow& span : update.spans) {
          if (const auto at = tracks.find(span.track); at != tracks.end()) {
            writeEvent(source, span, *at->second, csv);
          }
        }
        return file.ok() ? base::Status() : file.close();
      });
  if (!read.ok()) {
    return read.error();
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeStatistics(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"rank", "kind", "what", "bucket", "count", "total_ms", "share_percent", "mean_ms",
                 "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms"});
  using Key = std::tuple<int, EventKind, std::string_view, std::uint16_t>;
  std::map<Key, std::vector<double>> groups;
  std::map<int, double> stepsMs;
  const auto tracks = tracksById(source.survey);
  const base::Status read =
      eachBlock(source.survey, source.progress, [&](trace::RunUpdate& update) -> base::Status {
        for (const SpanRow& span : update.spans) {
          const auto at = tracks.find(span.track);
          if (at == tracks.end() || span.durationTicks == 0) {
            continue;  // instants take no time
          }
          const double ms = source.durationMs(span.durationTicks);
          groups[{at->second->rank, span.kind, whatOf(span), span.bucket}].push_back(ms);
          if (span.kind == EventKind::kStep) {
            stepsMs[at->second->rank] += ms;
          }
        }
        return {};
      });
  if (!read.ok()) {
    return read.error();
  }
  for (auto& [key, values] : groups) {
    const auto& [rank, kind, what, bucket] = key;
    const analysis::Durations durations = analysis::durationsOf(std::move(values));
    const double total = durations.mean * static_cast<double>(durations.count());
    const auto steps = stepsMs.find(rank);
    csv.number(rank).text(trace::name(kind)).text(what).bucket(bucket);
    csv.number(static_cast<std::uint64_t>(durations.count())).ms(total);
    csv.percent(steps == stepsMs.end() ? std::nullopt : std::optional(100 * total / steps->second));
    csv.ms(durations.mean).ms(durations.p50).ms(durations.p90).ms(durations.p95);
    csv.ms(durations.p99).ms(durations.max).end();
  }
  return csv.rows();
}

}  // namespace lockstep::exports

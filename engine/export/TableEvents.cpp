#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "engine/analysis/SpanStatistics.h"
#include "engine/base/Try.h"
#include "engine/export/EventTable.h"
#include "engine/export/SelectedRows.h"
#include "engine/export/StatisticsTable.h"
#include "engine/export/TableWriters.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

// The tables that are made of spans, row by row.
namespace lockstep::exports {
namespace {

using trace::EventKind;
using trace::SpanRow;

using TracksById = std::unordered_map<std::int32_t, const trace::TrackInfo*>;

TracksById tracksById(const Survey& survey) {
  TracksById found;
  for (const trace::TrackInfo& track : survey.tracks) {
    found[track.id] = &track;
  }
  return found;
}

EventRow rowOf(const TableSource& source, const SpanRow& span, const trace::TrackInfo& track) {
  EventRow row;
  row.id = span.id;
  row.rank = track.rank;
  row.thread = track.name;
  row.kind = span.kind;
  row.startNs = source.ns(span.startTicks);
  row.durationNs = source.survey.clock.durationNs(span.durationTicks);
  const auto step = source.survey.stepBegins.find({track.rank, span.step});
  if (step != source.survey.stepBegins.end()) {
    row.stepStartNs = source.ns(step->second);
  }
  row.step = span.step;
  row.bucket = span.bucket;
  row.detail = span.detail;
  row.value = span.value;
  return row;
}

/// The spans of a run in groups of one rank, kind and bucket.
class Grouping {
 public:
  explicit Grouping(const TableSource& source)
      : source_(source), tracks_(tracksById(source.survey)) {}

  void take(const SpanRow& span) {
    const auto track = tracks_.find(span.track);
    if (track == tracks_.end()) {
      return;
    }
    const double start = source_.ns(span.startTicks);
    const double duration = source_.survey.clock.durationNs(span.durationTicks);
    extent_.start = std::min(extent_.start, start);
    extent_.end = std::max(extent_.end, start + duration);
    if (span.kind == EventKind::kGap) {
      return;  // where events were lost nothing is known
    }
    const bool selected = source_.survey.holds(span);
    const Survey& survey = source_.survey;
    // What is not selected takes of the self time of what is.
    // Two spans around the bounds may hold selected ones.
    if (selected || (span.startTicks < survey.endTicks &&
                     span.startTicks + span.durationTicks > survey.beginTicks)) {
      spans_.push_back({start, duration * run::partOf(span.kind, span.value, duration),
                        run::has(span.kind, run::kAsync) ? analysis::kNoThread : span.track,
                        selected ? groupOf(span, track->second->rank) : analysis::kNoGroup});
    }
  }

  /// The time that is measured.
  [[nodiscard]] analysis::TimeWindow window() const {
    const Survey& survey = source_.survey;
    if (extent_.start > extent_.end) {
      return {};
    }
    if (survey.selection.all()) {
      return extent_;
    }
    const TickRange range =
        survey.selection.ticks.value_or(TickRange{survey.beginTicks, survey.endTicks});
    // A stretch that reaches beyond the run counts as far as the run goes: shares are of time that
    // was measured.
    const double start = std::clamp(source_.ns(range.begin), extent_.start, extent_.end);
    return {start, std::clamp(source_.ns(range.end), start, extent_.end)};
  }

  void write(Csv& csv) {
    const analysis::TimeWindow measured = window();
    const auto all = analysis::spanStatistics(std::move(spans_), groups_.size(), measured);
    for (const auto& [key, group] : groups_) {
      exports::write(csv, key, all[group],
                     analysis::shareOf(all[group], measured, source_.survey.rankCount()));
    }
  }

 private:
  std::uint32_t groupOf(const SpanRow& span, int rank) {
    const StatisticsKey key{rank, span.kind, whatOf(span.kind, span.detail, span.value),
                            span.bucket};
    return groups_.try_emplace(key, static_cast<std::uint32_t>(groups_.size())).first->second;
  }

  const TableSource& source_;
  TracksById tracks_;
  std::map<StatisticsKey, std::uint32_t> groups_;
  std::vector<analysis::TimedSpan> spans_;
  analysis::TimeWindow extent_{std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};
};

}  // namespace

base::Result<std::uint64_t> writeEvents(const TableSource& source, OutputFile& file) {
  Csv csv(file, eventTitles());
  const auto tracks = tracksById(source.survey);
  const base::Status read =
      eachBlock(source.survey, source.progress, [&](trace::RunUpdate& update) -> base::Status {
        for (const SpanRow& span : update.spans) {
          if (const auto at = tracks.find(span.track); at != tracks.end()) {
            write(csv, rowOf(source, span, *at->second), source.survey.parameters);
          }
        }
        // A full disk ends the export now, and not after the rest of the run.
        return file.ok() ? base::Status() : file.close();
      });
  if (!read.ok()) {
    return read.error();
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeStatistics(const TableSource& source, OutputFile& file) {
  Csv csv(file, statisticsTitles());
  Grouping groups(source);
  LOCKSTEP_TRY(
      eachSpan(source.survey, source.progress, [&](const SpanRow& span) { groups.take(span); }));
  groups.write(csv);
  return csv.rows();
}

}  // namespace lockstep::exports

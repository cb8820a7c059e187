#include "engine/export/Survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/Try.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::exports {
namespace {

using trace::EventKind;

template <typename Row>
std::int64_t lastId(const std::vector<Row>& rows) {
  return rows.empty() ? 0 : rows.back().id;
}

// Note [What an export begins with]
// Times of an export count from its first moment, and a trace's head says what is in it; both are
// known only once the run was read. So there are two passes over the file: this one counts and
// finds the bounds, the other writes (SelectedRows.cpp). What makes the bounds hard is the number
// 0: a rank's start-up, which may take seconds, carries it as its first iteration does.
//
//       rank 0   |startup......|step 0 |step 1 |
//       rank 1   |startup...............|step 0|step 1 |
//       --steps 0..1           ^ the export begins here, with the first of any rank
//
// While rows come, it is not known yet which rank a track is of or where its iteration 0 begins. So
// what carries the number 0 is set aside (ofStep0_), and judged at the end (leaveOutStartup).

class Surveying {
 public:
  Surveying(const Selection& selection, Depth depth) {
    result_.selection = selection;
    if (depth == Depth::kAnalysis) {
      result_.data.emplace();
    }
  }

  void take(trace::RunUpdate& update) {
    const auto keep = [](auto& news, auto& kept) {
      if (news) {
        kept = std::move(*news);
      }
    };
    if (result_.data) {
      result_.data->takeTables(update);
    }
    keep(update.info, result_.info);
    keep(update.ranks, result_.ranks);
    keep(update.hosts, result_.hosts);
    keep(update.tracks, result_.tracks);
    keep(update.parameters, result_.parameters);
    keep(update.layouts, result_.layouts);
    keep(update.clock, result_.clock);
    for (const trace::SpanRow& span : update.spans) {
      takeSpan(span);
    }
    Survey::Last& last = result_.last;
    for (const auto& [id, rows] :
         {std::pair{&last.metric, lastId(update.metrics)}, std::pair{&last.log, lastId(update.log)},
          std::pair{&last.problem, lastId(update.problems)},
          std::pair{&last.fingerprint, lastId(update.fingerprints)},
          std::pair{&last.gradient, lastId(update.gradients)}}) {
      *id = std::max(*id, rows);
    }
    for (const trace::MetricRow& metric : update.metrics) {
      if (result_.selection.all() && metric.ticks != 0) {
        reach(metric.ticks, metric.ticks);
      }
    }
  }

  base::Result<Survey> finish(const std::filesystem::path& run) {
    for (const trace::TrackInfo& track : result_.tracks) {
      result_.rankOf[track.id] = track.rank;
    }
    for (const auto& [of, ticks] : beginOf_) {
      if (const auto rank = result_.rankOf.find(of.first); rank != result_.rankOf.end()) {
        // Spans come by track, and tracks are known to be of a rank only when all is read.
        result_.stepBegins.try_emplace({rank->second, of.second}, ticks);
      }
    }
    if (result_.selection.steps) {
      leaveOutStartup();
    }
    if (!result_.selection.ranks.empty()) {
      leaveOutRanks();
    }
    // A whole run may hold no span and be exported all the same: with its log, its problems.
    if (result_.spans == 0 && !(result_.selection.all() && result_.selection.ranks.empty())) {
      return base::Error{base::ExitCode::kBadInput, nothing(), run.string()};
    }
    result_.path = run;
    nameGroups();
    for (const trace::TrackInfo& track : result_.tracks) {
      if (result_.selection.holdsRank(track.rank)) {
        result_.selectedRanks.insert(track.rank);
      }
    }
    return std::move(result_);
  }

 private:
  void takeSpan(const trace::SpanRow& span) {
    result_.last.span = std::max(result_.last.span, span.id);
    if (result_.data && run::has(span.kind, run::kAnalysed)) {
      result_.data->spans.push_back(span);
    }
    const std::uint64_t end = span.startTicks + span.durationTicks;
    if (span.kind == EventKind::kCollective) {
      seenIn_[trace::groupOf(span.detail)].insert(span.track);
    }
    if (span.kind == EventKind::kStep) {
      const auto [begin, first] = beginOf_.try_emplace({span.track, span.step}, span.startTicks);
      begin->second = std::min(begin->second, span.startTicks);
      firstStep_ = std::min(firstStep_, span.step);
      lastStep_ = std::max(lastStep_, span.step);
    }
    if (result_.selection.steps && span.kind == EventKind::kStartup) {
      startup_[span.track] = std::max(startup_[span.track], end);
    }
    if (!result_.selection.holds(span)) {
      return;
    }
    result_.spans += 1;
    if (!result_.selection.ranks.empty()) {
      spansOf_[span.track] += 1;
    }
    if (result_.selection.steps) {
      takeOfSteps(span, end);
      return;
    }
    reach(span.startTicks, end);
    if (result_.selection.ticks && span.kind != EventKind::kStartup) {
      StepRange& steps =
          result_.steps ? *result_.steps : result_.steps.emplace(StepRange{span.step, span.step});
      steps.first = std::min(steps.first, span.step);
      steps.last = std::max(steps.last, span.step);
    }
  }

  void takeOfSteps(const trace::SpanRow& span, std::uint64_t end) {
    if (span.kind == EventKind::kStep) {
      auto [begin, first] = stepBegins_.try_emplace(span.track, span.startTicks);
      begin->second = std::min(begin->second, span.startTicks);
      if (span.step == 0) {
        step0Begins_[span.track] = span.startTicks;
      }
    }
    if (span.step == 0) {
      ofStep0_.push_back({span.track, span.startTicks, end});
    } else {
      auto [begin, first] = begins_.try_emplace(span.track, span.startTicks);
      begin->second = std::min(begin->second, span.startTicks);
      lastEnd_ = std::max(lastEnd_, end);
    }
  }

  /// By rank, the smallest or the largest of what was found by track.
  template <typename Choose>
  std::map<int, std::uint64_t> byRank(const std::map<std::int32_t, std::uint64_t>& byTrack,
                                      Choose choose) const {
    std::map<int, std::uint64_t> found;
    for (const auto& [track, ticks] : byTrack) {
      if (const auto rank = result_.rankOf.find(track); rank != result_.rankOf.end()) {
        const auto [at, first] = found.try_emplace(rank->second, ticks);
        at->second = choose(at->second, ticks);
      }
    }
    return found;
  }

  /// A rank's start-up ends where its iteration 0 begins or, when that never ended,
  /// with the last stage of it. The export begins with the first iteration of any rank; one that
  /// has no end begins with the first that was recorded of it.
  void leaveOutStartup() {
    const auto earlier = [](auto a, auto b) { return std::min(a, b); };
    const auto later = [](auto a, auto b) { return std::max(a, b); };
    const auto begins = byRank(stepBegins_, earlier);
    if (result_.selection.steps->holds(0)) {
      result_.startupEnd = byRank(startup_, later);
      for (const auto& [rank, ticks] : byRank(step0Begins_, earlier)) {
        result_.startupEnd[rank] = ticks;
      }
    }
    for (const OfStep0& span : ofStep0_) {
      const auto rank = result_.rankOf.find(span.track);
      if (rank != result_.rankOf.end() && result_.isStartup(rank->second, 0, span.end)) {
        // It was counted as selected before.
        result_.spans -= 1;
        spansOf_[span.track] -= 1;
        continue;
      }
      const auto [begin, first] = begins_.try_emplace(span.track, span.begin);
      begin->second = std::min(begin->second, span.begin);
      lastEnd_ = std::max(lastEnd_, span.end);
    }
    for (const auto& [rank, ticks] : byRank(begins_, earlier)) {
      const auto step = begins.find(rank);
      // An iteration that never ended has no span of its own: only what was recorded in it.
      const std::uint64_t begin = step == begins.end() ? ticks : step->second;
      reach(begin, std::max(begin, lastEnd_));
    }
  }

  /// The bounds stay those of all ranks: exports of several ranks, one after the other, have one
  /// axis.
  void leaveOutRanks() {
    result_.spans = 0;
    for (const auto& [track, spans] : spansOf_) {
      const auto rank = result_.rankOf.find(track);
      if (rank != result_.rankOf.end() && result_.selection.holdsRank(rank->second)) {
        result_.spans += spans;
      }
    }
  }

  void reach(std::uint64_t begin, std::uint64_t end) {
    result_.beginTicks = any_ ? std::min(result_.beginTicks, begin) : begin;
    result_.endTicks = any_ ? std::max(result_.endTicks, end) : end;
    any_ = true;
  }

  [[nodiscard]] std::string nothing() const {
    if (result_.selection.ticks) {
      return "nothing was recorded in this stretch of time";
    }
    if (result_.selection.all()) {
      return "nothing was recorded of these ranks";
    }
    return firstStep_ > lastStep_
               ? std::string("this run holds no iterations")
               : fmt::format("none of these iterations is in this run, which holds {} to {}",
                             firstStep_, lastStep_);
  }

  void nameGroups() {
    for (const auto& [group, tracks] : seenIn_) {
      for (const std::int32_t track : tracks) {
        if (const auto at = result_.rankOf.find(track); at != result_.rankOf.end()) {
          result_.groups[group].insert(at->second);
        }
      }
    }
  }

  Survey result_;
  std::map<std::pair<std::int32_t, std::uint32_t>, std::uint64_t>
      beginOf_;  // an iteration, by track
  std::map<std::uint8_t, std::set<std::int32_t>> seenIn_;
  // Of selected iterations, by track where nothing else is said.
  struct OfStep0 {
    std::int32_t track = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::map<std::int32_t, std::uint64_t> spansOf_;  // where some ranks are selected
  std::vector<OfStep0> ofStep0_;                   // among it what belongs to the start-up
  std::map<std::int32_t, std::uint64_t> startup_;  // end of the last stage
  std::map<std::int32_t, std::uint64_t> stepBegins_;
  std::map<std::int32_t, std::uint64_t> step0Begins_;
  std::map<std::int32_t, std::uint64_t> begins_;  // of any span
  std::uint64_t lastEnd_ = 0;
  std::uint32_t firstStep_ = UINT32_MAX;
  std::uint32_t lastStep_ = 0;
  bool any_ = false;
};

}  // namespace

base::Error interrupted() {
  return base::Error{base::ExitCode::kInterrupted, "the export was interrupted", ""};
}

bool goesOn(const Progress& progress, double part) {
  return !progress || progress(part);
}

bool Survey::holds(const trace::SpanRow& span) const {
  if (!selection.holds(span)) {
    return false;
  }
  const auto rank = rankOf.find(span.track);
  if (rank == rankOf.end()) {
    return selection.ranks.empty();
  }
  return selection.holdsRank(rank->second) &&
         !isStartup(rank->second, span.step, span.startTicks + span.durationTicks);
}

const trace::BucketsMessage* Survey::layoutAt(std::uint32_t step) const {
  const trace::BucketsMessage* found = nullptr;
  for (const trace::BucketsMessage& layout : layouts) {
    if (layout.step <= step && (found == nullptr || layout.layout >= found->layout)) {
      found = &layout;
    }
  }
  return found;
}

const trace::HostState* Survey::hostOf(const trace::RankInfo& rank) const {
  const auto found = std::find_if(hosts.begin(), hosts.end(), [&](const trace::HostState& host) {
    return host.info.host == rank.host;
  });
  return hosts.size() < 2 || found == hosts.end() ? nullptr : &*found;
}

int Survey::rankCount() const {
  int highest = -1;
  for (const trace::TrackInfo& track : tracks) {
    highest = std::max(highest, track.rank);
  }
  return std::max({info.worldSize, static_cast<int>(ranks.size()), highest + 1});
}

std::string Survey::backend() const {
  for (const trace::RankInfo& rank : ranks) {
    if (const auto at = rank.environment.find("backend"); at != rank.environment.end()) {
      return at->second;
    }
  }
  return "unknown";
}

base::Result<Survey> survey(const std::filesystem::path& run, const Selection& selection,
                            Depth depth, const Progress& progress) {
  auto reader = LOCKSTEP_TRY(trace::RunFileReader::open(run));
  Surveying surveying(selection, depth);
  // How many rows there are is not known yet: each block halves what is left of this part.
  double done = 0;
  for (bool more = true; more;) {
    auto update = LOCKSTEP_TRY(reader->poll(kBlockSpans));
    more = update.spans.size() == kBlockSpans;
    surveying.take(update);
    done += (1 - done) / 2;
    if (!goesOn(progress, kSurveyPart * done)) {
      return interrupted();
    }
  }
  return surveying.finish(run);
}

}  // namespace lockstep::exports

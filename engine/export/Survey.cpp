#include "engine/export/Survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::exports {
namespace {

using trace::EventKind;

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
      analysis::takeSamples(update, *result_.data);
    }
    keep(update.info, result_.info);
    keep(update.ranks, result_.ranks);
    keep(update.tracks, result_.tracks);
    keep(update.parameters, result_.parameters);
    keep(update.layouts, result_.layouts);
    keep(update.clock, result_.clock);
    for (const trace::SpanRow& span : update.spans) {
      takeSpan(span);
    }
    for (const trace::MetricRow& metric : update.metrics) {
      if (result_.selection.all() && metric.ticks != 0) {
        reach(metric.ticks, metric.ticks);
      }
    }
  }

  base::Result<Survey> finish(const std::filesystem::path& run) {
    if (result_.spans == 0 && !result_.selection.all()) {
      return base::Error{base::ExitCode::kBadInput, nothing(), run.string()};
    }
    result_.path = run;
    nameGroups();
    if (result_.data) {
      result_.data->tracks = result_.tracks;
      result_.data->layouts = result_.layouts;
      result_.data->clock = result_.clock;
    }
    if (result_.selection.steps && result_.steps) {
      result_.beginTicks = stepBegin_;
      result_.endTicks = stepEnd_;
    }
    for (const trace::TrackInfo& track : result_.tracks) {
      result_.selectedRanks.insert(track.rank);
    }
    return std::move(result_);
  }

 private:
  void takeSpan(const trace::SpanRow& span) {
    result_.lastSpan = std::max(result_.lastSpan, span.id);
    if (result_.data && analysis::isAnalysed(span)) {
      result_.data->spans.push_back(span);
    }
    const std::uint64_t end = span.startTicks + span.durationTicks;
    if (span.kind == EventKind::kCollective) {
      seenIn_[trace::groupOf(span.detail)].insert(span.track);
    }
    if (span.kind == EventKind::kStep) {
      firstStep_ = std::min(firstStep_, span.step);
      lastStep_ = std::max(lastStep_, span.step);
    }
    if (!result_.selection.holds(span)) {
      return;
    }
    result_.spans += 1;
    reach(span.startTicks, end);
    if (span.kind == EventKind::kStep) {
      stepBegin_ = std::min(stepBegin_, span.startTicks);
      stepEnd_ = std::max(stepEnd_, end);
      StepRange& steps =
          result_.steps ? *result_.steps : result_.steps.emplace(StepRange{span.step, span.step});
      steps.first = std::min(steps.first, span.step);
      steps.last = std::max(steps.last, span.step);
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
    return firstStep_ > lastStep_
               ? std::string("this run holds no iterations")
               : fmt::format("none of these iterations is in this run, which holds {} to {}",
                             firstStep_, lastStep_);
  }

  void nameGroups() {
    std::map<std::int32_t, int> rankOf;
    for (const trace::TrackInfo& track : result_.tracks) {
      rankOf[track.id] = track.rank;
    }
    for (const auto& [group, tracks] : seenIn_) {
      for (const std::int32_t track : tracks) {
        if (const auto at = rankOf.find(track); at != rankOf.end()) {
          result_.groups[group].insert(at->second);
        }
      }
    }
  }

  Survey result_;
  std::map<std::uint8_t, std::set<std::int32_t>> seenIn_;
  std::uint64_t stepBegin_ = UINT64_MAX;
  std::uint64_t stepEnd_ = 0;
  std::uint32_t firstStep_ = UINT32_MAX;
  std::uint32_t lastStep_ = 0;
  bool any_ = false;
};

bool goesOn(const Progress& progress, double part) {
  return !progress || progress(part);
}

/// Rows are drained in about the order of time, so that ids tell how far a pass has come.
double share(std::int64_t done, std::int64_t all) {
  return all <= 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
}

}  // namespace

base::Error interrupted() {
  return base::Error{base::ExitCode::kInterrupted, "the export was interrupted", ""};
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
  auto reader = trace::RunFileReader::open(run);
  if (!reader.ok()) {
    return reader.error();
  }
  Surveying surveying(selection, depth);
  // How many rows there are is not known yet: each block halves what is left of this part.
  double done = 0;
  for (bool more = true; more;) {
    auto update = reader.value()->poll(kBlockSpans);
    if (!update.ok()) {
      return update.error();
    }
    more = update.value().spans.size() == kBlockSpans;
    surveying.take(update.value());
    done += (1 - done) / 2;
    if (!goesOn(progress, kSurveyPart * done)) {
      return interrupted();
    }
  }
  return surveying.finish(run);
}

base::Status eachBlock(const Survey& survey, const Progress& progress,
                       const std::function<base::Status(trace::RunUpdate&)>& take,
                       std::size_t blockSpans) {
  auto reader = trace::RunFileReader::open(survey.path);
  if (!reader.ok()) {
    return reader.error();
  }
  for (bool more = true; more;) {
    auto polled = reader.value()->poll(blockSpans);
    if (!polled.ok()) {
      return polled.error();
    }
    trace::RunUpdate& update = polled.value();
    const std::int64_t reached = update.spans.empty() ? survey.lastSpan : update.spans.back().id;
    more = update.spans.size() == blockSpans && reached < survey.lastSpan;
    std::erase_if(update.spans, [&](const trace::SpanRow& span) {
      return span.id > survey.lastSpan || !survey.selection.holds(span);
    });
    std::erase_if(update.metrics, [&](const trace::MetricRow& metric) {
      return !survey.holdsMoment(metric.ticks);
    });
    if (base::Status taken = take(update); !taken.ok()) {
      return taken;
    }
    if (!goesOn(progress, kSurveyPart + (1 - kSurveyPart) * share(reached, survey.lastSpan))) {
      return interrupted();
    }
  }
  return {};
}

}  // namespace lockstep::exports

#include "ui/panels/statistics/StatisticsSearch.h"

#include <algorithm>
#include <utility>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "ui/model/SpanSlices.h"

namespace lockstep::ui {

// Note [Measured spans and their surroundings]
//
// The source hands over the spans that touch the range, and after them those beside it that lie
// within or around one of these (SpanSlices::around):
//
//   range              ├──────────────┤
//   backward      ├───────────┤             measured, at its whole length
//   copy in         ├─┤                     before the range: counts for nothing itself, but the
//                                           backward has 1 ms less of its own (self time)
//   forward     ├──┤                        before it too: the phase in which a span may have begun
//
// Of the first `measured` that come, those that the query asks for get a group; the others get
// none: spanStatistics counts them nowhere, but takes their time from the spans around them. Phases
// are known only when all spans have come, since they come lane by lane; so grouping by phase is
// done at the end.
class StatisticsSearch::Job : public SpanWalk::Job {
 public:
  Job(const StatisticsOrder& order, ParameterTable parameters, std::uint32_t measured,
      std::shared_ptr<Statistics> to)
      : order_(order),
        parameters_(std::move(parameters)),
        measured_(measured),
        groups_(order.by),
        result_(std::move(to)) {}

  bool take(const SpanChunk& chunk) override {
    const bool byPhase = order_.by == GroupBy::kPhase;
    std::uint32_t number = chunk.first;
    for (const Span& span : chunk.spans) {
      const bool wanted =
          number++ < measured_ && (order_.query.empty() || order_.query.matches(parameters_, span));
      spans_.push_back({span.startNs, span.durationNs * span.part(),
                        run::has(span.kind, run::kAsync) ? analysis::kNoThread : span.track,
                        wanted ? groups_.groupOf(span) : analysis::kNoGroup});
      if (byPhase) {
        groups_.notePhase(span);
        // An iteration is in none of its phases.
        ranks_.push_back(wanted && span.kind != trace::EventKind::kStep ? span.rank() : -1);
      }
    }
    return true;
  }

  void finish() override {
    if (order_.by == GroupBy::kPhase) {
      groups_.endPhases();
      for (std::size_t i = 0; i < spans_.size(); ++i) {
        if (ranks_[i] >= 0) {
          spans_[i].group = groups_.phaseOf(ranks_[i], spans_[i].start);
        }
      }
    }
    result_->measured = std::min<std::uint64_t>(measured_, spans_.size());
    if (dropped()) {
      return;
    }
    const analysis::TimeWindow window{result_->range.startNs, result_->range.endNs};
    const auto groups = analysis::spanStatistics(std::move(spans_), groups_.all().size(), window);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].count > 0) {
        result_->rows.push_back(
            {groups_.all()[i], groups[i], analysis::shareOf(groups[i], window, result_->ranks)});
      }
    }
  }

 private:
  StatisticsOrder order_;
  ParameterTable parameters_;
  std::uint32_t measured_;
  SpanGroups groups_;
  std::shared_ptr<Statistics> result_;
  std::vector<analysis::TimedSpan> spans_;
  std::vector<int> ranks_;  // by phase: of each span; -1: not counted
};

StatisticsSearch::StatisticsSearch(QObject* parent) : QObject(parent) {}

void StatisticsSearch::start(const RunModel& model, const StatisticsOrder& order) {
  clock_.start();
  auto result = std::make_shared<Statistics>();
  const auto latest = latestPart(model, order.range, order.most);
  const auto range = latest ? latest : order.range;
  const TimeRange extent = model.extent();
  const SpanSlices slices(model, range);
  // Note [Measured spans and their surroundings].
  const SpanSlices around = range ? SpanSlices::around(model, *range) : SpanSlices();
  result->of = latest ? SpanSlices(model, order.range).count() : slices.count();
  if (range) {
    // Where the run holds no time, none can be shared.
    const double start = std::clamp(range->startNs, extent.startNs, extent.endNs);
    result->range = {start, std::clamp(range->endNs, start, extent.endNs)};
  } else {
    result->range = extent;
  }
  result->ranks = model.rankCount();
  job_ = std::make_shared<Job>(order, model.parameters(), slices.count(), result);
  walk_.disconnect(this);
  connect(&walk_, &SpanWalk::finished, this, [this, result] {
    job_.reset();
    tookMs_ = clock_.elapsed();
    emit found(result);
  });
  walk_.start(
      [&model, slices, around, next = std::uint32_t{0},
       beside = std::uint32_t{0}](SpanChunk& chunk) mutable {
        next = slices.copy(model, next, SpanWalk::kChunkSpans, chunk.spans);
        if (chunk.spans.empty()) {
          beside = around.copy(model, beside, SpanWalk::kChunkSpans, chunk.spans);
        }
        return !chunk.spans.empty();
      },
      job_);
}

void StatisticsSearch::cancel() {
  walk_.cancel();
  job_.reset();
}

}  // namespace lockstep::ui

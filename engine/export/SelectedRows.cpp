#include "engine/export/SelectedRows.h"

#include <algorithm>

#include "engine/base/Try.h"

namespace lockstep::exports {
namespace {

/// Drops what a live run has recorded since the survey.
template <typename Row>
void dropAfter(std::int64_t last, std::vector<Row>& rows) {
  // Both passes must see the same rows: what the survey counted is what is written.
  std::erase_if(rows, [last](const Row& row) { return row.id > last; });
}

/// Rows are drained in about the order of time, so that ids tell how far a pass has come.
double share(std::int64_t done, std::int64_t all) {
  return all <= 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
}

// Calls `take` with what the file holds, of spans those that the survey has seen.
base::Status eachPoll(const Survey& survey, const Progress& progress, std::size_t blockSpans,
                      const std::function<base::Status(trace::RunUpdate&)>& take) {
  auto reader = LOCKSTEP_TRY(trace::RunFileReader::open(survey.path));
  for (bool more = true; more;) {
    trace::RunUpdate update = LOCKSTEP_TRY(reader->poll(blockSpans));
    const std::int64_t last = survey.last.span;
    const std::int64_t reached = update.spans.empty() ? last : update.spans.back().id;
    // A full block may not be the last; a live run would go on for ever.
    more = update.spans.size() == blockSpans && reached < last;
    dropAfter(last, update.spans);
    LOCKSTEP_TRY(take(update));
    if (!goesOn(progress, kSurveyPart + (1 - kSurveyPart) * share(reached, last))) {
      return interrupted();
    }
  }
  return {};
}

}  // namespace

base::Status eachSpan(const Survey& survey, const Progress& progress,
                      const std::function<void(const trace::SpanRow&)>& take) {
  return eachPoll(survey, progress, kBlockSpans, [&](trace::RunUpdate& update) -> base::Status {
    for (const trace::SpanRow& span : update.spans) {
      take(span);
    }
    return {};
  });
}

base::Status eachBlock(const Survey& survey, const Progress& progress,
                       const std::function<base::Status(trace::RunUpdate&)>& take,
                       std::size_t blockSpans) {
  return eachPoll(survey, progress, blockSpans, [&](trace::RunUpdate& update) {
    const Survey::Last& last = survey.last;
    std::erase_if(update.spans, [&](const trace::SpanRow& span) { return !survey.holds(span); });
    std::erase_if(update.metrics, [&](const trace::MetricRow& metric) {
      return metric.id > last.metric || !survey.holds(metric);
    });
    std::erase_if(update.log, [&](const trace::LogRow& row) {
      return row.id > last.log || !survey.holdsMoment(row.ticks) ||
             !survey.selection.holdsRank(row.rank);
    });
    dropAfter(last.problem, update.problems);
    dropAfter(last.fingerprint, update.fingerprints);
    dropAfter(last.gradient, update.gradients);
    return take(update);
  });
}

}  // namespace lockstep::exports

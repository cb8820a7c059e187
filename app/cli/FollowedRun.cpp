#include "app/cli/FollowedRun.h"

#include <algorithm>
#include <utility>

#include "engine/analysis/ReadyOrder.h"
#include "engine/base/Try.h"
#include "engine/diagnosis/Evidence.h"
#include "engine/trace/Event.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::cli {
namespace {

// A diagnosis looks at the whole run; it takes a tenth of the time at most.
constexpr std::chrono::milliseconds kDiagnosisEvery{2000};
constexpr int kRestPerWork = 10;

constexpr std::size_t kProblems = 3;

/// The spans of one step of one rank of which its buckets are told.
std::vector<trace::SpanRow> spansOf(const analysis::RunData& data, int rank, std::uint32_t step) {
  std::vector<trace::SpanRow> spans;
  data.eachSpanOf([](trace::EventKind) { return true; }, step,
                  [&](int of, const trace::SpanRow& span) {
                    if (of == rank && span.step == step) {
                      spans.push_back(span);
                    }
                  });
  return spans;
}

/// The latest step in which a rank had a gradient; none: it had none since step `first`.
std::optional<std::uint32_t> latestStep(const analysis::RunData& data, int rank,
                                        std::uint32_t first) {
  std::optional<std::uint32_t> latest;
  data.eachSpanOf([](trace::EventKind kind) { return kind == trace::EventKind::kGradientReady; },
                  first, [&](int of, const trace::SpanRow& span) {
                    if (of == rank) {
                      latest = std::max(latest.value_or(0), span.step);
                    }
                  });
  return latest;
}

/// The assignment that a step used; null: none is known.
const trace::BucketsMessage* layoutOf(const analysis::RunData& data, std::uint32_t step) {
  const trace::BucketsMessage* layout = nullptr;
  for (const trace::BucketsMessage& one : data.layouts) {
    layout = one.step <= step ? &one : layout;
  }
  return layout;
}

}  // namespace

base::Result<FollowedRun> FollowedRun::open(const std::filesystem::path& path) {
  auto reader = trace::RunFileReader::open(path);
  return reader.ok() ? base::Result<FollowedRun>(FollowedRun(std::move(reader).value()))
                     : reader.error();
}

FollowedRun::FollowedRun(std::unique_ptr<trace::RunFileReader> reader)
    : reader_(std::move(reader)) {}

base::Result<bool> FollowedRun::refresh() {
  LOCKSTEP_TRY(trace::readWholeRun(*reader_, [this](trace::RunUpdate& update) { take(update); }));
  // Once more after the end was seen, for rows that were written beside it.
  const bool ended = !trace::isLive(state_.info.state);
  const bool more = !ended || !sawEnd_;
  sawEnd_ = ended;
  state_.analysis = growing_.refresh(data_, more);
  tellProgress();
  tellBuckets();
  if (Clock::now() >= nextDiagnosis_) {
    diagnose();
  }
  return more;
}

void FollowedRun::take(trace::RunUpdate& update) {
  data_.take(update);
  for (const trace::SpanRow& span : update.spans) {
    firstTicks_ = std::min(firstTicks_.value_or(span.startTicks), span.startTicks);
    lastTicks_ = std::max(lastTicks_, span.startTicks + span.durationTicks);
    if (span.kind == trace::EventKind::kStartup) {
      state_.progress.recorder.startup =
          trace::name(static_cast<trace::StartupStage>(span.detail));
    } else if (span.kind == trace::EventKind::kStep) {
      steps_ = std::max(steps_, span.step + 1);
    }
  }
  if (update.info) {
    state_.info = std::move(*update.info);
  }
  if (update.ranks) {
    state_.ranks = std::move(*update.ranks);
  }
  if (update.hosts) {
    state_.hosts = std::move(*update.hosts);
  }
  for (const trace::MetricRow& metric : update.metrics) {
    takeMetric(metric);
  }
  auto& problems = state_.problems;
  problems.insert(problems.end(), update.problems.begin(), update.problems.end());
  if (problems.size() > kProblems) {
    problems.erase(problems.begin(), problems.end() - kProblems);
  }
}

void FollowedRun::takeMetric(const trace::MetricRow& metric) {
  if (metric.rank == 0 && metric.name == "loss") {
    state_.progress.recorder.loss = metric.value;
  }
}

void FollowedRun::tellProgress() {
  trace::Recorder::Progress& progress = state_.progress.recorder;
  progress.plannedSteps = state_.info.plannedSteps;
  progress.diverged = state_.info.divergence.has_value();
  progress.dropped = 0;
  for (const trace::RankInfo& rank : state_.ranks) {
    progress.dropped += rank.eventsDropped;
  }
  progress.steps = {steps_};
  state_.progress.elapsed = std::chrono::milliseconds(static_cast<std::int64_t>(
      static_cast<double>(lastTicks_ - firstTicks_.value_or(lastTicks_)) * data_.clock.nsPerTick /
      1e6));
}

void FollowedRun::diagnose() {
  const Clock::time_point began = Clock::now();
  state_.diagnosis = diagnosis::diagnose(evidence_.refresh(
      {state_.info, state_.ranks, data_, state_.analysis, state_.hosts}, reader_->path()));
  const Clock::time_point now = Clock::now();
  nextDiagnosis_ = now + std::max<Clock::duration>(kDiagnosisEvery, kRestPerWork * (now - began));
}

// Of the rank whose communication is exposed most; before that is known, of the first.
void FollowedRun::tellBuckets() {
  const int rank = state_.analysis.exposedRank.value_or(
      state_.ranks.empty() ? 0 : state_.ranks.front().rank);
  const bool another = rank != state_.bucketRank;
  const auto step = latestStep(data_, rank, another ? 0 : state_.bucketStep);
  const trace::BucketsMessage* layout = step ? layoutOf(data_, *step) : nullptr;
  if (layout == nullptr) {
    return;
  }
  state_.bucketRank = rank;
  state_.bucketStep = *step;
  state_.buckets.clear();
  const std::vector<analysis::RankSpans> spans{{rank, spansOf(data_, rank, *step)}};
  const auto orders = analysis::readyOrders(spans, *step, layout);
  const auto lives = analysis::bucketLives(spans, *step, *layout, orders);
  for (std::size_t b = 0; b < lives.size(); ++b) {
    BucketProgress bucket;
    bucket.bucket = static_cast<std::uint16_t>(b);
    bucket.bytes = layout->buckets[b].bytes;
    bucket.parameters = layout->buckets[b].parameters.size();
    bucket.ready = static_cast<std::size_t>(
        std::count_if(orders.front().gradients.begin(), orders.front().gradients.end(),
                      [&](const auto& gradient) { return gradient.bucket == bucket.bucket; }));
    bucket.stage = lives[b].ranks.front().stageAt(lastTicks_);
    state_.buckets.push_back(bucket);
  }
}

}  // namespace lockstep::cli

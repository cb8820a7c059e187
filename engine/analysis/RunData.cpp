#include "engine/analysis/RunData.h"

#include <algorithm>
#include <utility>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::analysis {
namespace {

// Behind the steps in which a run sets itself up.
constexpr std::uint32_t kFirstBusyStep = 2;

void add(RunData::Percents& sum, double percent) {
  sum.percent += percent;
  sum.values += 1;
}

}  // namespace

void RunData::takeTables(const trace::RunUpdate& update) {
  const auto append = [](const auto& from, auto& to) {
    for (const auto& row : from) {
      to.push_back(row);
    }
  };
  const auto replace = [](const auto& fresh, auto& table) {
    if (fresh) {
      table = *fresh;
    }
  };
  doubt.take(update);
  replace(update.tracks, tracks);
  replace(update.layouts, layouts);
  replace(update.parameters, parameters);
  replace(update.clock, clock);
  append(update.fingerprints, fingerprints);
  append(update.sketches, sketches);
  append(update.gradients, gradients);
  append(update.sums, sums);
  for (const trace::MetricRow& metric : update.metrics) {
    if (metric.name == "loss") {
      losses.push_back(metric);
    } else if (metric.name == name(trace::CounterId::kStolenPercent)) {
      addStolen(metric.rank, metric.value);
    } else if (metric.name == name(trace::CounterId::kCpuPercent) &&
               metric.step >= kFirstBusyStep) {
      add(busy[metric.rank], metric.value);
    }
  }
}

void RunData::addStolen(int rank, double percent) {
  add(stolen[rank], percent);
}

void RunData::take(const trace::RunUpdate& update) {
  takeTables(update);
  for (const trace::SpanRow& span : update.spans) {
    if (run::has(span.kind, run::kAnalysed)) {
      spans.push_back(span);
    }
  }
}

RankOfTrack RunData::rankOfTrack() const {
  RankOfTrack rankOf;
  for (const trace::TrackInfo& track : tracks) {
    rankOf[track.id] = track.rank;
  }
  return rankOf;
}

std::set<std::uint32_t> RunData::stepsNotWhole() const {
  std::set<std::uint32_t> steps;
  for (const trace::StepSumsRow& row : sums) {
    steps.insert(row.step);
  }
  return steps;
}

std::uint32_t RunData::lastStep() const {
  std::uint32_t last = 0;
  spans.eachOf([](trace::EventKind kind) { return kind == trace::EventKind::kStep; }, 0,
               [&last](const trace::SpanRow& span) { last = std::max(last, span.step); });
  return last;
}

base::Result<RunData> readRunData(const std::filesystem::path& path) {
  RunData data;
  const base::Status read =
      trace::readWholeRun(path, [&data](const trace::RunUpdate& update) { data.take(update); });
  return read.ok() ? base::Result<RunData>(std::move(data)) : read.error();
}

}  // namespace lockstep::analysis

#include "ui/views/compare/CompareResult.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::ui {
namespace {

// Counters that come by the hundred thousand are no outcome.
constexpr const char* kOutcomes[] = {"final_loss", "loss", "test_loss", "test_accuracy"};

// In ms, by kind of span, of the iterations that the table of figures is of.
Distributions distributionsOf(const AnalysedRun& run) {
  const auto rankOf = run.data.rankOfTrack();
  std::set<std::pair<int, std::uint32_t>> measured;
  for (const analysis::StepTimes& step : run.analysis.steps()) {
    if (step.step >= run.analysis.warmUp.firstMeasured && !step.incomplete) {
      measured.emplace(step.rank, step.step);
    }
  }
  std::map<trace::EventKind, std::vector<double>> durations;
  for (const trace::SpanRow& span : run.data.spans) {
    const auto rank = rankOf.find(span.track);
    if (span.durationTicks > 0 && run::has(span.kind, run::kAnalysed) &&
        span.kind != trace::EventKind::kGap && rank != rankOf.end() &&
        measured.contains({rank->second, span.step})) {
      durations[span.kind].push_back(run.data.clock.durationNs(span.durationTicks) / 1e6);
    }
  }
  Distributions distributions;
  for (auto& [kind, ms] : durations) {
    distributions[kind] = analysis::durationsOf(std::move(ms));
  }
  return distributions;
}

// The measured iteration whose length is nearest to the median: of an even number none has the
// median itself.
std::uint32_t typicalIteration(const AnalysedRun& run) {
  struct Bounds {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool complete = true;
  };
  std::map<std::uint32_t, Bounds> iterations;  // from the first rank's start to the last's end
  for (const analysis::StepTimes& step : run.analysis.steps()) {
    if (step.step >= run.analysis.warmUp.firstMeasured) {
      const Bounds own{step.startTicks, step.endTicks, !step.incomplete};
      Bounds& all = iterations.try_emplace(step.step, own).first->second;
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end),
             all.complete && own.complete};
    }
  }
  // An iteration counts only if it is whole on every rank.
  std::erase_if(iterations, [](const auto& entry) { return !entry.second.complete; });
  std::vector<double> lengths;
  for (const auto& [step, all] : iterations) {
    lengths.push_back(static_cast<double>(all.end - all.begin));
  }
  const double wanted = analysis::median(std::move(lengths)).value_or(0);
  const auto off = [&](const auto& entry) {
    return std::abs(static_cast<double>(entry.second.end - entry.second.begin) - wanted);
  };
  const auto typical = std::ranges::min_element(iterations, {}, off);
  // Nothing was measured: the first that would be.
  return typical == iterations.end() ? run.analysis.warmUp.firstMeasured : typical->first;
}

}  // namespace

CompareInput compareInput(const RunModel& model, std::shared_ptr<const AnalysedRun> analysed) {
  CompareInput input;
  input.name = QString::fromStdString(model.info().name);
  input.detail = QString::fromStdString(model.path().stem().string());
  input.settings = analysis::settingsOf(model.info(), model.ranks());
  input.analysed = std::move(analysed);
  input.ranks = model.ranks();
  input.live = model.isLive();
  for (const char* name : kOutcomes) {
    for (int rank = 0; rank < model.rankCount(); ++rank) {
      const auto& points = model.metric(name, rank);
      // The last value: what training came to.
      if (!points.empty()) {
        input.metrics[name][rank] = points.back().value;
      }
    }
  }
  return input;
}

std::shared_ptr<const CompareResult> compareRuns(std::vector<CompareInput> runs) {
  auto result = std::make_shared<CompareResult>();
  std::vector<analysis::RunToCompare> compared;
  for (const CompareInput& run : runs) {
    const analysis::RunAnalysis& analysed = run.analysed->analysis;
    // What these point to must outlive compare(): the inputs go into the result.
    compared.push_back({run.name.toStdString(), run.settings, &run.analysed->data, &analysed,
                        analysis::outcomeOf(run.metrics, run.ranks, analysed)});
    result->distributions.push_back(distributionsOf(*run.analysed));
    result->typicalIterations.push_back(typicalIteration(*run.analysed));
  }
  result->comparison = analysis::compare(compared);
  result->runs = std::move(runs);
  return result;
}

QString letterOf(std::size_t run) {
  return QString::fromStdString(analysis::letterOf(run));
}

QString titleOfRun(const CompareResult& result, std::size_t run) {
  const CompareInput& titled = result.runs[run];
  const bool shared = std::ranges::count(result.runs, titled.name, &CompareInput::name) > 1;
  return letterOf(run) + QStringLiteral("  ") + titled.name +
         (shared && titled.detail != titled.name && !titled.detail.isEmpty()
              ? QStringLiteral(" (%1)").arg(titled.detail)
              : QString());
}

}  // namespace lockstep::ui

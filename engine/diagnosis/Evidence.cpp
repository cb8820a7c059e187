#include "engine/diagnosis/Evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/analysis/GrowingAnalysis.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::diagnosis {
namespace {

void measure(Evidence& evidence) {
  std::map<int, std::uint32_t> steps;
  double ms = 0;
  std::uint32_t count = 0;
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (evidence.isMeasured(step.times)) {
      ms += step.times.stepMs;
      count += 1;
      evidence.measuredSteps = std::max(evidence.measuredSteps, ++steps[step.times.rank]);
    }
  }
  evidence.stepMs = count == 0 ? 0 : ms / count;
}

/// Takes the causes of exposed time out of the steps: of a run of many ranks the tails are most of
/// what these hold.
void takeTails(Evidence& evidence) {
  using analysis::TailCause;
  evidence.causes = analysis::tailReasons(evidence.steps, evidence.run.warmUp.firstMeasured);
  for (analysis::StepOverlap& step : evidence.steps) {
    const std::vector<analysis::TailItem> tail = std::exchange(step.tail, {});
    if (!evidence.isMeasured(step.times) || !trace::isTypical(step.times.kept)) {
      continue;
    }
    auto& [ms, ranks] = evidence.exposedTransfers[step.times.step];
    ranks += 1;
    for (const analysis::TailItem& item : tail) {
      ms += item.cause == TailCause::kMuchTransfer || item.cause == TailCause::kSlowLink ||
                    item.cause == TailCause::kLateBucket
                ? item.ms
                : 0;
    }
  }
}

}  // namespace

StepValues::StepValues(const std::map<std::uint32_t, double>& byStep) {
  for (const auto& [step, value] : byStep) {
    steps.push_back(step);
    values.push_back(value);
  }
}

std::optional<std::uint32_t> StepValues::largest() const {
  const auto most = std::max_element(values.begin(), values.end());
  return most == values.end()
             ? std::nullopt
             : std::optional(steps[static_cast<std::size_t>(most - values.begin())]);
}

StepValues Evidence::longestCoreWaitsMs() const {
  std::map<std::uint32_t, double> longest;  // by step
  for (const analysis::StepOverlap& step : steps) {
    if (isMeasured(step.times)) {
      double& ms = longest[step.times.step];
      ms = std::max(ms, step.times.coreWaitMs + step.times.stolenMs);
    }
  }
  return StepValues(longest);
}

std::string Evidence::parameter(std::uint32_t index) const {
  return index < data.parameters.size() ? data.parameters[index].name
                                        : fmt::format("parameter {}", index);
}

std::optional<std::uint16_t> Evidence::bucketOf(std::uint32_t parameter) const {
  if (data.layouts.empty()) {
    return std::nullopt;
  }
  const auto& buckets = data.layouts.back().buckets;
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    const auto& parameters = buckets[bucket].parameters;
    if (std::find(parameters.begin(), parameters.end(), parameter) != parameters.end()) {
      return static_cast<std::uint16_t>(bucket);
    }
  }
  return std::nullopt;
}

Evidence evidenceOf(Recording recording, const std::filesystem::path& path) {
  Evidence evidence;
  evidence.info = std::move(recording.info);
  evidence.ranks = std::move(recording.ranks);
  evidence.data = std::move(recording.data);
  const analysis::RunData& data = evidence.data;
  std::vector<analysis::RankActivity> activity;
  evidence.run = recording.analysis ? std::move(*recording.analysis)
                                    : analysis::GrowingAnalysis().refresh(data, false, &activity);
  const std::uint32_t first = evidence.run.warmUp.firstMeasured;
  evidence.steps = recording.analysis
                       ? analysis::stepOverlaps(data, evidence.run)
                       : analysis::stepOverlaps(data, evidence.run, std::move(activity));
  takeTails(evidence);
  evidence.divergence = analysis::divergence(data);
  evidence.calls = analysis::callSequences(data, analysis::recordedToItsEnd(evidence.info));
  evidence.work = rankWork(data, first);
  measure(evidence);
  auto experiment = analysis::experimentOf(evidence.info, path);
  if (evidence.info.kind == trace::RunKind::kExperiment) {
    evidence.experiment = experiment;
  }
  if (evidence.experiment && !evidence.experiment->hook.isOwn()) {
    evidence.hook = analysis::hookTimes(data, evidence.run);
  }
  evidence.recorded =
      analysis::recordedSteps(data, evidence.info, evidence.ranks, std::move(experiment), path);
  evidence.forecaster =
      evidence.recorded.ok()
          ? cost::Forecaster::make(analysis::recordedRun(evidence.recorded.value().steps,
                                                         evidence.recorded.value().settings))
          : base::Result<cost::Forecaster>(evidence.recorded.error());
  return evidence;
}

base::Result<Evidence> readEvidence(const std::filesystem::path& path) {
  Recording recording;
  const base::Status read = trace::readWholeRun(path, [&](trace::RunUpdate& update) {
    recording.data.take(update);
    recording.info = update.info ? std::move(*update.info) : std::move(recording.info);
    recording.ranks = update.ranks ? std::move(*update.ranks) : std::move(recording.ranks);
  });
  return read.ok() ? base::Result<Evidence>(evidenceOf(std::move(recording), path)) : read.error();
}

}  // namespace lockstep::diagnosis

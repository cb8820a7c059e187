#include "engine/diagnosis/Evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <utility>

#include "engine/base/FreedMemory.h"
#include "engine/trace/WholeRun.h"

namespace lockstep::diagnosis {
namespace {

void measure(Evidence& evidence) {
  std::map<int, std::uint32_t> steps;
  double ms = 0;
  std::uint32_t count = 0;
  evidence.measuredSteps = 0;
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (evidence.isMeasured(step.times)) {
      ms += step.times.stepMs;
      count += 1;
      evidence.measuredSteps = std::max(evidence.measuredSteps, ++steps[step.times.rank]);
    }
  }
  evidence.stepMs = count == 0 ? 0 : ms / count;
}

using Transfers = std::map<std::uint32_t, Evidence::ExposedTransfers>;

/// Adds what of these steps' exposed time transfers took.
void addTransfers(const Evidence& evidence, const std::vector<analysis::StepOverlap>& steps,
                  Transfers& transfers) {
  using analysis::TailCause;
  for (const analysis::StepOverlap& step : steps) {
    if (!evidence.isMeasured(step.times) || !trace::isTypical(step.times.kept)) {
      continue;
    }
    auto& [ms, ranks] = transfers[step.times.step];
    ranks += 1;
    for (const analysis::TailItem& item : step.tail) {
      ms += item.cause == TailCause::kMuchTransfer || item.cause == TailCause::kSlowLink ||
                    item.cause == TailCause::kLateBucket
                ? item.ms
                : 0;
    }
  }
}

/// Of a run of many ranks the tails are most of what the steps hold, and they are summed by now.
void dropTails(std::vector<analysis::StepOverlap>& steps, std::size_t from) {
  for (std::size_t i = from; i < steps.size(); ++i) {
    std::exchange(steps[i].tail, {});  // to assign {} would keep their room
  }
}

/// Adds what is made of the rest, which is there.
void complete(Evidence& evidence, const std::filesystem::path& path) {
  const analysis::RunData& data = evidence.data;
  evidence.work = rankWork(data, evidence.run.warmUp.firstMeasured);
  measure(evidence);
  auto experiment = analysis::experimentOf(evidence.info, path);
  evidence.experiment.reset();
  if (evidence.info.kind == trace::RunKind::kExperiment) {
    evidence.experiment = experiment;
  }
  evidence.hook = {};
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
}

template <typename T>
void takeNews(T& known, std::optional<T>& news) {
  if (news) {
    known = std::move(*news);
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

Evidence evidenceOf(Recording recording, const std::filesystem::path& path,
                    const TakeDelays& takeDelays) {
  Evidence evidence;
  evidence.info = std::move(recording.info);
  evidence.ranks = std::move(recording.ranks);
  evidence.hosts = std::move(recording.hosts);
  evidence.data = std::move(recording.data);
  const analysis::RunData& data = evidence.data;
  evidence.run = recording.analysis ? std::move(*recording.analysis) : analysis::analyse(data);
  if (takeDelays) {
    analysis::BucketDelays delays;
    evidence.steps = analysis::stepOverlaps(data, evidence.run, delays);
    takeDelays(std::move(delays), evidence.run);
  } else {
    evidence.steps = analysis::stepOverlaps(data, evidence.run);
  }
  base::giveBackFreedMemory();
  evidence.causes = analysis::tailReasons(evidence.steps, evidence.run.warmUp.firstMeasured);
  addTransfers(evidence, evidence.steps, evidence.exposedTransfers);
  evidence.bucketCosts.add(evidence.steps, evidence.run.warmUp.firstMeasured);
  dropTails(evidence.steps, 0);
  base::giveBackFreedMemory();
  // Not before: of many ranks the calls take as much as the tails.
  auto calls = std::async(std::launch::async, [&data, &info = evidence.info] {
    return analysis::callSequences(data, analysis::recordedToItsEnd(info));
  });
  evidence.divergence = analysis::divergence(data);
  complete(evidence, path);
  evidence.calls = calls.get();
  return evidence;
}

const Evidence& GrowingEvidence::refresh(Recording recording, const std::filesystem::path& path) {
  evidence_.info = std::move(recording.info);
  evidence_.ranks = std::move(recording.ranks);
  evidence_.hosts = std::move(recording.hosts);
  evidence_.data = std::move(recording.data);
  evidence_.run = *std::move(recording.analysis);
  const analysis::RunData& data = evidence_.data;
  const std::uint32_t first = evidence_.run.warmUp.firstMeasured;
  const analysis::OverlapNews news = overlaps_.refresh(data, evidence_.run);
  if (news.anew) {
    closed_ = 0;
    causes_ = {};
    transfers_ = {};
    buckets_ = {};
  }
  std::vector<analysis::StepOverlap>& steps = evidence_.steps;
  steps.resize(closed_);
  steps.insert(steps.end(), news.closed.begin(), news.closed.end());
  closed_ = steps.size();
  steps.insert(steps.end(), news.open.begin(), news.open.end());
  dropTails(steps, closed_ - news.closed.size());
  addTransfers(evidence_, news.closed, transfers_);
  evidence_.exposedTransfers = transfers_;
  addTransfers(evidence_, news.open, evidence_.exposedTransfers);
  buckets_.add(news.closed, first);
  evidence_.bucketCosts = buckets_;
  evidence_.bucketCosts.add(news.open, first);
  causes_.add(news.closed, first);
  analysis::TailSums causes = causes_;
  causes.add(news.open, first);
  evidence_.causes = causes.reasons();
  evidence_.divergence = divergence_.refresh(data, evidence_.run);
  evidence_.calls = calls_.refresh(data, evidence_.run, analysis::recordedToItsEnd(evidence_.info));
  complete(evidence_, path);
  return evidence_;
}

base::Result<Evidence> readEvidence(const std::filesystem::path& path) {
  Recording recording;
  const base::Status read = trace::readWholeRun(path, [&](trace::RunUpdate& update) {
    recording.data.take(update);
    takeNews(recording.info, update.info);
    takeNews(recording.ranks, update.ranks);
    takeNews(recording.hosts, update.hosts);
  });
  return read.ok() ? base::Result<Evidence>(evidenceOf(std::move(recording), path)) : read.error();
}

}  // namespace lockstep::diagnosis

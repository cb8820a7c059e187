#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/analysis/WhatIfCap.h"
#include "engine/base/NumberText.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

using Plan = std::vector<cost::PlannedBucket>;

constexpr std::array<double, 11> kCapsMiB{0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 25, 50, 100};

struct Choice {
  double capMiB = 0;
  bool firstToo = false;  ///< the first bucket's cap comes down to it
  Plan plan;
  double stepNs = 0;
};

double replayedNs(const cost::Forecaster& forecaster, const Plan& plan) {
  cost::ReplayedSteps steps(forecaster.habits(), forecaster.line(), plan);
  double sum = 0;
  for (const cost::StepRecord& step : forecaster.steps()) {
    for (const cost::RankOutcome& rank : steps.next(step).ranks) {
      sum += rank.stepNs;
    }
  }
  return sum;
}

/// The cap whose replay is the shortest; of those that make the same buckets the first.
std::optional<Choice> bestCap(const Evidence& evidence) {
  const analysis::RecordedSteps& recorded = evidence.recorded.value();
  const cost::Forecaster& forecaster = evidence.forecaster.value();
  const auto caps = analysis::capsOf(recorded.settings.experiment.ddp);
  std::optional<Choice> best;
  for (const double mebibytes : kCapsMiB) {
    buckets::BucketCaps others = caps;
    others.capBytes = buckets::capBytes(mebibytes).value();
    // A first bucket that may be larger than the others would keep its place in the way.
    others.firstBytes = std::min(others.firstBytes, others.capBytes);
    const auto plan = analysis::planWithCaps(recorded.parameters, recorded.layout, caps, others);
    if (!plan.ok()) {
      continue;
    }
    const double ns = replayedNs(forecaster, plan.value());
    if (!best || ns < best->stepNs) {
      best = Choice{mebibytes, others.firstBytes < caps.firstBytes, plan.value(), ns};
    }
  }
  return best;
}

}  // namespace

std::vector<Finding> judgeBuckets(const Evidence& evidence) {
  if (!evidence.experiment || !evidence.recorded.ok() || !evidence.forecaster.ok()) {
    return {};
  }
  const auto best = bestCap(evidence);
  const auto forecast = best ? evidence.forecaster.value().forecast(best->plan)
                             : base::Result<std::vector<cost::RankForecast>>(base::Error{});
  const auto saving = forecast.ok() ? savingOf(forecast.value()) : std::nullopt;
  if (!saving || saving->low < kWorthSpeakingOf * evidence.stepMs) {
    return {};
  }
  const std::size_t own = evidence.recorded.value().layout.buckets.size();
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = best->plan.size() < own ? "buckets are too small" : "buckets are too large";
  finding.sentence = fmt::format(
      "With a cap of {:g} MiB the replayed steps have {} in place of {}, and take {} ms in "
      "place of {}: {}.",
      best->capMiB, base::countedText(best->plan.size(), "bucket"), own,
      base::msText(evidence.stepMs - saving->mean), base::msText(evidence.stepMs),
      best->plan.size() < own ? "each bucket costs a latency, and a rank's own work"
                              : "more of the transfer lies beside the backward");
  const std::string cap = fmt::format("{:g}", best->capMiB);
  finding.settings = {{"ddp.bucket_cap_mb", cap}};
  if (best->firstToo) {
    finding.settings.push_back({"ddp.first_bucket_mb", cap});
  }
  finding.remedy = fmt::format("Set ddp.bucket_cap_mb = {}{}.", cap,
                               best->firstToo ? " and ddp.first_bucket_mb no higher" : "");
  finding.place.step = evidence.forecaster.value().steps().back().step;
  finding.savingMs = saving;
  return {finding};
}

}  // namespace lockstep::diagnosis

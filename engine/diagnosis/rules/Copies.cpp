#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/diagnosis/rules/Judges.h"
#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeCopies(const Evidence& evidence) {
  using trace::EventKind;
  if (!evidence.experiment || evidence.experiment->ddp.gradientAsBucketView ||
      evidence.experiment->ddp.mixesPrecision()) {  // a gradient then has memory of its own
    return {};
  }
  const auto copies = [](EventKind kind) {
    return kind == EventKind::kCopyIn || kind == EventKind::kCopyOut;
  };
  // By step and rank: what began when and took how long, in ms; below 0 it is waiting.
  std::map<std::pair<std::uint32_t, int>, std::map<std::uint64_t, double>> steps;
  evidence.data.eachSpanOf(
      [&](EventKind kind) { return copies(kind) || has(kind, run::kWaits); },
      evidence.run.warmUp.firstMeasured,
      [&](int rank, const trace::SpanRow& span) {
        const double ms = evidence.data.clock.durationNs(span.durationTicks) / 1e6;
        steps[{span.step, rank}][span.startTicks] += copies(span.kind) ? ms : -ms;
      });
  std::map<std::uint32_t, double> exposedMs;  // by step, in the mean of all ranks
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (evidence.isMeasured(step.times)) {
      double sum = 0;  // a wait would be longer by what copies before it did not take
      for (const auto& [begin, ms] : steps[{step.times.step, step.times.rank}]) {
        sum = std::max(0.0, sum + ms);
      }
      exposedMs[step.times.step] += sum / evidence.info.worldSize;
    }
  }
  const StepValues samples(exposedMs);
  const auto interval = cost::meanInterval(samples.values, kIntervalTail);
  if (!interval || interval->low < kWorthSpeakingOf * evidence.stepMs) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = "gradients are copied into buckets and back";
  finding.sentence = fmt::format(
      "Copies that no wait hides take {:.2f} ms a step ({:.2f} to {:.2f}) of {:.2f} ms.",
      interval->mean, interval->low, interval->high, evidence.stepMs);
  finding.remedy = "Set ddp.gradient_as_bucket_view = true.";
  finding.settings = {{"ddp.gradient_as_bucket_view", "true"}};
  finding.savingMs = interval;
  finding.atMost = true;
  finding.place = {.step = samples.largest(), .phase = "backward"};
  return {finding};
}

}  // namespace lockstep::diagnosis

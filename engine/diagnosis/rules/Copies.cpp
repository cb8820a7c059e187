#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "engine/base/NumberText.h"
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
  // By step and rank, then time; a copy's ms, or below 0 a wait's.
  std::vector<std::tuple<std::uint32_t, int, std::uint64_t, double>> parts;
  evidence.data.eachSpanOf(
      [&](EventKind kind) { return copies(kind) || has(kind, run::kWaits); },
      evidence.run.warmUp.firstMeasured, [&](int rank, const trace::SpanRow& span) {
        const double ms = evidence.data.clock.durationNs(span.durationTicks) / 1e6;
        parts.emplace_back(span.step, rank, span.startTicks, copies(span.kind) ? ms : -ms);
      });
  std::sort(parts.begin(), parts.end());
  std::map<std::uint32_t, double> exposedMs;  // by step, in the mean of all ranks
  for (const analysis::StepOverlap& step : evidence.steps) {
    if (evidence.isMeasured(step.times)) {
      const auto [number, rank] = std::pair(step.times.step, step.times.rank);
      double sum = 0;  // a wait would be longer by what copies before it did not take
      for (auto part = std::lower_bound(parts.begin(), parts.end(), std::tuple(number, rank, 0, -1e9));
           part != parts.end() && std::get<0>(*part) == number && std::get<1>(*part) == rank; ++part) {
        sum = std::max(0.0, sum + std::get<3>(*part));
      }
      exposedMs[number] += sum / evidence.info.worldSize;
    }
  }
  const StepValues samples(exposedMs);
  const auto interval = cost::meanInterval(samples.values, kIntervalTail);
  if (!interval || interval->low < kWorthSpeakingOf * evidence.stepMs) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kNote;  // as DDP does by default
  finding.title = "gradients are copied into buckets and back";
  finding.sentence = fmt::format(
      "Copies that no wait hides take {} ms a step ({}) of {} ms.", base::msText(interval->mean),
      base::msRangeText(interval->low, interval->high), base::msText(evidence.stepMs));
  finding.remedy = "Set ddp.gradient_as_bucket_view = true.";
  finding.settings = {{"ddp.gradient_as_bucket_view", "true"}};
  finding.savingMs = interval;
  finding.atMost = true;
  finding.place = {.step = samples.largest(), .phase = "backward"};
  return {finding};
}

}  // namespace lockstep::diagnosis

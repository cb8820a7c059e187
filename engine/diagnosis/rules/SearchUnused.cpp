#include <fmt/format.h>

#include <map>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"
#include "engine/trace/Event.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeSearch(const Evidence& evidence) {
  using trace::EventKind;
  if (!evidence.experiment || !evidence.experiment->ddp.findUnusedParameters) {
    return {};
  }
  std::map<std::uint32_t, double> ms;  // by step, of all ranks together
  bool isNeeded = false;
  evidence.data.eachSpanOf([](EventKind kind) { return kind == EventKind::kMarkedUnused; }, 0,
                           [&](int, const trace::SpanRow&) { isNeeded = true; });
  if (isNeeded) {
    return {};
  }
  evidence.data.eachSpanOf(
      [](EventKind kind) {
        return kind == EventKind::kSearchUnused || kind == EventKind::kUsedMap;
      },
      evidence.run.warmUp.firstMeasured,
      [&](int, const trace::SpanRow& span) {
        ms[span.step] += evidence.data.clock.durationNs(span.durationTicks) / 1e6;
      });
  for (auto& [step, sum] : ms) {
    sum /= static_cast<double>(evidence.info.worldSize);
  }
  const StepValues samples(ms);
  const auto interval = cost::meanInterval(samples.values, kIntervalTail);
  if (!interval || interval->low <= 0) {
    return {};
  }
  Finding finding;
  finding.weight =
      interval->low < kWorthSpeakingOf * evidence.stepMs ? Weight::kNote : Weight::kCost;
  finding.title = "unused parameters are searched for, and there are none";
  finding.sentence = fmt::format(
      "Every step searches the graph for parameters that take no part, and asks the other ranks, "
      "for {} ms ({}); in {} steps it found none.",
      base::msText(interval->mean), base::msRangeText(interval->low, interval->high),
      samples.values.size());
  finding.remedy = "Set ddp.find_unused_parameters = false.";
  finding.settings = {{"ddp.find_unused_parameters", "false"}};
  if (finding.weight == Weight::kCost) {
    finding.savingMs = savingOfTime(evidence, *interval);
  }
  finding.place.step = samples.largest();
  finding.place.phase = "forward";
  return {finding};
}

}  // namespace lockstep::diagnosis

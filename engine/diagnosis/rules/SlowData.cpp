#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/analysis/SlowLink.h"
#include "engine/base/NumberText.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeData(const Evidence& evidence) {
  // The least that any rank takes: what one takes longer than the others is that rank's lateness.
  std::map<std::uint32_t, double> least;
  for (const RankWork& rank : evidence.work) {
    for (const std::uint32_t number : rank.steps()) {
      const double ms = rank.ms(number, {WorkPart::Kind::kData, 0}).value_or(0);
      const auto [at, isFirst] = least.try_emplace(number, ms);
      at->second = std::min(at->second, ms);
    }
  }
  const StepValues samples(least);
  const auto interval = cost::meanInterval(samples.values, kIntervalTail);
  if (!interval || interval->low < analysis::kTellingShare * evidence.stepMs) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = "making batches takes long";
  finding.sentence = fmt::format(
      "Every rank takes {} ms a step ({}) of {} ms to make its batch, and "
      "nothing else goes on meanwhile.",
      base::msText(interval->mean), base::msRangeText(interval->low, interval->high),
      base::msText(evidence.stepMs));
  finding.remedy =
      "Make the next batch while this one is trained on: workers of a data loader, prefetching.";
  finding.savingMs = savingOfTime(evidence, *interval);
  finding.atMost = true;
  finding.place.step = samples.largest();
  finding.place.phase = "data";
  return {finding};
}

}  // namespace lockstep::diagnosis

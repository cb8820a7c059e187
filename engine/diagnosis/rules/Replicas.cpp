#include <fmt/format.h>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeReplicas(const Evidence& evidence) {
  const auto& first = evidence.divergence.first;
  if (!first || !evidence.info.driftingHook.empty()) {
    return {};
  }
  const auto parameter = static_cast<std::uint32_t>(first->parameter);
  Finding finding;
  finding.weight = Weight::kWrong;
  finding.title = "replicas differ";
  const std::string ranks = base::ranksText(first->ranks, 4);
  finding.sentence =
      fmt::format("Parameters differ between ranks {}: by step {} {} {} of {} on {}.",
                  first->lastEqualStep
                      ? fmt::format("after step {}, when all were equal", *first->lastEqualStep)
                      : "from the first look on",
                  first->step, base::countedText(first->parametersDiffering, "parameter"),
                  first->parametersDiffering == 1 ? "differs, that" : "differ, the first",
                  evidence.parameter(parameter),
                  first->majority ? ranks + ", against the majority"
                                  : ranks + " and the others, and none of them has a majority");
  finding.remedy =
      first->lastEqualStep
          ? fmt::format(
                "Look at what changed {} between these steps: memory, an update of one rank "
                "alone, a hook that does not give all ranks the same.",
                evidence.parameter(parameter))
          : "Give all ranks the same start: ddp.init_sync = true sends rank 0's parameters.";
  if (!first->lastEqualStep && evidence.experiment && !evidence.experiment->ddp.initSync) {
    finding.settings = {{"ddp.init_sync", "true"}};
  }
  if (first->majority && !first->ranks.empty()) {
    finding.place.rank = first->ranks.front();
  }
  finding.place.step = first->step;
  finding.place.parameter = parameter;
  return {finding};
}

}  // namespace lockstep::diagnosis

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/base/NumberText.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

/// A bucket that came back from the hook otherwise on one rank than on another.
struct Apart {
  std::uint32_t step = 0;
  std::uint16_t bucket = 0;
  int rank = 0;
  int other = 0;
};

/// Returns the first before `step`; none: all ranks got the same, or nobody looked.
std::optional<Apart> firstApart(const Evidence& evidence, std::uint32_t step) {
  using Hashes = std::map<int, std::uint64_t>;  // by rank
  std::map<std::uint32_t, std::map<std::uint16_t, Hashes>> steps;
  for (const trace::GradientRow& row : evidence.data.gradients) {
    if (row.step < step && row.gradients.reduced && row.gradients.reduced->hash) {
      steps[row.step][row.gradients.bucket][row.rank] = *row.gradients.reduced->hash;
    }
  }
  for (const auto& [number, buckets] : steps) {
    for (const auto& [bucket, hashes] : buckets) {
      const auto& [rank, hash] = *hashes.begin();
      for (const auto& [other, its] : hashes) {
        if (its != hash) {
          return Apart{number, bucket, rank, other};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

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
  if (const auto apart = firstApart(evidence, first->step)) {
    finding.sentence += fmt::format(
        " Before that, in step {}, the hook gave rank {} another bucket {} than rank {}.",
        apart->step, apart->other, apart->bucket, apart->rank);
    finding.remedy =
        "Look at the hook: it has to give all ranks the same, by the same calls in the same order.";
    finding.place.step = apart->step;
    finding.place.bucket = apart->bucket;
    finding.place.phase = "backward";
  }
  return {finding};
}

}  // namespace lockstep::diagnosis

#include <fmt/format.h>

#include <algorithm>

#include "engine/analysis/SlowLink.h"
#include "engine/base/NumberText.h"
#include "engine/diagnosis/StepSaving.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

std::vector<Finding> judgeCores(const Evidence& evidence) {
  const StepValues waits = evidence.longestCoreWaitsMs();
  const auto interval = cost::meanInterval(waits.values, kIntervalTail);
  if (!interval || interval->low < analysis::kTellingShare * evidence.stepMs) {
    return {};
  }
  std::vector<int> starved;
  double most = 0;
  for (const analysis::RankAnalysis& rank : evidence.run.ranks) {
    most = std::max(most, rank.coreWaitMs);
  }
  for (const analysis::RankAnalysis& rank : evidence.run.ranks) {
    if (rank.coreWaitMs > most / 2) {
      starved.push_back(rank.rank);
    }
  }
  // What a hypervisor took is no rank's wait.
  const bool all = starved.empty() || starved.size() * 2 > evidence.run.ranks.size();
  Finding finding;
  finding.weight = Weight::kCost;
  finding.title = all ? "there are not enough cores"
                      : fmt::format("{} {} no core to {}", base::ranksText(starved, 4),
                                    starved.size() == 1 ? "has" : "have",
                                    starved.size() == 1 ? "itself" : "themselves");
  finding.sentence = fmt::format(
      "In each step a rank's step thread is ready to run and has no core for {} ms ({}) "
      "of {} ms{}. What looks like late ranks and long transfers here is that, and the "
      "fault of no rank and no link.",
      base::msText(interval->mean), base::msRangeText(interval->low, interval->high),
      base::msText(evidence.stepMs),
      all ? ", whichever rank it is"
          : fmt::format(", most of it on {}", base::ranksText(starved, 4)));
  if (all) {
    const int threads = evidence.experiment ? evidence.experiment->processes.threadsPerRank : 0;
    finding.remedy = "Run fewer ranks on the machine, or give it more cores.";
    if (threads > 1) {
      finding.remedy = fmt::format(
          "Run each rank with fewer threads (processes.threads_per_rank is {}), or fewer ranks on "
          "the machine.",
          threads);
      finding.settings = {{"processes.threads_per_rank", "1"}};
    } else if (evidence.experiment && evidence.experiment->processes.worldSize > 2) {
      finding.settings = {
          {"processes.world_size", std::to_string(evidence.experiment->processes.worldSize / 2)}};
    }
  } else {
    finding.remedy = "Something else runs on the cores of this rank: keep it off them.";
    finding.place.rank = starved.front();
  }
  finding.place.step = waits.largest();
  finding.savingMs = savingOfTime(evidence, *interval);
  finding.atMost = true;
  return {finding};
}

}  // namespace lockstep::diagnosis

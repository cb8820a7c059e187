#include "engine/simulate/RecordedQuestion.h"

#include <algorithm>

#include "engine/cost/LinkSettings.h"

namespace lockstep::simulate {
namespace {

/// By rank; empty where all are on one host.
std::vector<int> recordedHosts(const std::vector<trace::RankInfo>& infos, int ranks) {
  std::vector<int> hosts(static_cast<std::size_t>(ranks), trace::kRecordingHost);
  for (const trace::RankInfo& rank : infos) {
    if (rank.rank >= 0 && rank.rank < ranks) {
      hosts[static_cast<std::size_t>(rank.rank)] = rank.host;
    }
  }
  const bool one = std::equal(hosts.begin() + 1, hosts.end(), hosts.begin());
  return one ? std::vector<int>() : hosts;
}

}  // namespace

ScalingQuestion questionOf(const analysis::RecordedSteps& recorded,
                           const std::vector<trace::RankInfo>& ranks) {
  ScalingQuestion question;
  question.run = analysis::recordedRun(recorded.steps, recorded.settings);
  question.share = analysis::shareOf(recorded.steps);
  if (recorded.settings.experiment.link.shapes()) {
    question.settings = cost::linkOptions(recorded.settings.experiment.link);
  }
  question.hosts = recordedHosts(ranks, recorded.settings.worldSize);
  return question;
}

std::vector<int> doublings(int first, int last) {
  std::vector<int> ranks{first};
  while (ranks.back() < last) {
    ranks.push_back(std::min(2 * ranks.back(), last));
  }
  return ranks;
}

std::vector<RanksForecast> rowsFromOwn(const Scaling& scaling, std::vector<RanksForecast> rows) {
  if (rows.front().extrapolated) {
    rows.insert(rows.begin(), scaling.simulated());
  }
  return rows;
}

}  // namespace lockstep::simulate

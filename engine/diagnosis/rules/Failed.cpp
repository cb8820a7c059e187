#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/StartingLarge.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {
namespace {

std::string asSentence(std::string text) {
  if (text.empty()) {
    return "Nobody said why.";
  }
  text = base::startingLarge(std::move(text));
  return text.back() == '.' ? text : text + ".";
}

/// The rank that the failure speaks of: the others ended because of it.
std::optional<int> whoEndedFirst(const Evidence& evidence) {
  const std::vector<trace::RankInfo>& ranks = evidence.ranks;
  const auto isNamed = [&](const trace::RankInfo& rank) {
    return !rank.lastWords.empty() &&
           evidence.info.failure.find(rank.lastWords) != std::string::npos;
  };
  auto first = std::find_if(ranks.begin(), ranks.end(), isNamed);
  if (first == ranks.end()) {
    first = std::find_if(ranks.begin(), ranks.end(),
                         [](const trace::RankInfo& rank) { return rank.signal != 0; });
  }
  return first == ranks.end() ? std::nullopt : std::optional(first->rank);
}

}  // namespace

std::vector<Finding> judgeFailed(const Evidence& evidence) {
  using trace::RunState;
  const trace::RunInfo& info = evidence.info;
  if (info.state != RunState::kFailed && info.state != RunState::kRecorderDied) {
    return {};
  }
  Finding finding;
  finding.weight = Weight::kWrong;
  finding.title = info.state == RunState::kFailed ? "the run failed" : "the run's recorder is gone";
  finding.sentence = asSentence(info.failure);
  finding.place.rank = whoEndedFirst(evidence);
  finding.remedy =
      info.state == RunState::kRecorderDied
          ? "Start it again for the rest: what was recorded so far is kept."
      : finding.place.rank
          ? fmt::format("Look at what rank {} wrote last: the log has it.", *finding.place.rank)
          : "Look at what the ranks wrote last: the log has it.";
  for (const analysis::StepOverlap& step : evidence.steps) {
    finding.place.step = std::max(finding.place.step.value_or(0), step.times.step);
  }
  return {finding};
}

}  // namespace lockstep::diagnosis

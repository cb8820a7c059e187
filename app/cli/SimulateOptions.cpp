#include "app/cli/SimulateOptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/base/ReadNumber.h"
#include "engine/experiment/LinkPresets.h"
#include "engine/simulate/RecordedQuestion.h"
#include "engine/simulate/SimulatedRun.h"

namespace lockstep::cli {
namespace {

constexpr int kMostRanks = 65'536;

base::Error wrongRanks(const std::string& text) {
  return {
      base::ExitCode::kBadInput,
      fmt::format("\"{}\" is no number of ranks from 2 to {}, nor a list as 8,12,16, nor a range "
                  "as 8..4096",
                  text, kMostRanks),
      "--ranks"};
}

}  // namespace

base::Result<std::vector<int>> ranksFrom(const std::string& text) {
  std::vector<int> ranks;
  const auto take = [&](const std::string& word) {
    const auto number = base::readNumber<int>(word);
    ranks.push_back(number.value_or(0));
    return number && *number >= 2 && *number <= kMostRanks;
  };
  if (const auto dots = text.find(".."); dots != std::string::npos) {
    if (!take(text.substr(0, dots)) || !take(text.substr(dots + 2)) || ranks[0] > ranks[1]) {
      return wrongRanks(text);
    }
    return simulate::doublings(ranks[0], ranks[1]);
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (!take(word)) {
      return wrongRanks(text);
    }
  }
  if (ranks.empty()) {
    return wrongRanks(text);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

base::Status noneFewer(const std::vector<int>& ranks, int recorded) {
  if (ranks.front() < recorded) {
    return base::Error{
        base::ExitCode::kBadInput,
        fmt::format("{} is fewer than the {} ranks that were recorded", ranks.front(), recorded),
        "--ranks"};
  }
  return {};
}

base::Status canBeShown(const std::vector<int>& shown, int ranks) {
  constexpr std::size_t kAlwaysShown = 3;
  for (const int rank : shown) {
    if (rank < 0 || rank >= ranks) {
      return base::Error{base::ExitCode::kBadInput,
                         fmt::format("there is no rank {} among {}", rank, ranks), "--show"};
    }
  }
  if (shown.size() + kAlwaysShown > simulate::kMostShown) {
    return base::Error{
        base::ExitCode::kBadInput,
        fmt::format("a run file shows at most {} more ranks", simulate::kMostShown - kAlwaysShown),
        "--show"};
  }
  return {};
}

base::Result<simulate::LinkCost> linkFrom(const std::string& text) {
  constexpr double kNsPerUs = 1000;
  constexpr double kBits = 8;  // a Gbit/s is a bit a nanosecond
  if (const auto* preset = experiment::findLinkPreset(text)) {
    return simulate::LinkCost{preset->latencyUs() * kNsPerUs, kBits / preset->bandwidthGbps()};
  }
  const auto comma = text.find(',');
  if (comma != std::string::npos) {
    const auto us = base::readNumber<double>(text.substr(0, comma));
    const auto gbps = base::readNumber<double>(text.substr(comma + 1));
    if (us && gbps && *us >= 0 && *gbps > 0) {
      return simulate::LinkCost{*us * kNsPerUs, kBits / *gbps};
    }
  }
  std::string presets;
  for (const auto& preset : experiment::linkPresets()) {
    presets += (presets.empty() ? "" : ", ") + preset.name;
  }
  return base::Error{base::ExitCode::kBadInput,
                     fmt::format("\"{}\" is neither a preset ({}) nor LATENCY,BANDWIDTH in "
                                 "microseconds and Gbit/s, as 5,100",
                                 text, presets),
                     "--link"};
}

}  // namespace lockstep::cli

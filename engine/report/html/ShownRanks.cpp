#include "engine/report/html/ShownRanks.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/NumberText.h"

namespace lockstep::report::html {

bool ShownRanks::holds(int rank) const {
  return std::ranges::binary_search(ranks, rank);
}

std::string ShownRanks::text() const {
  return complete() ? ""
                    : fmt::format(
                          "Shown are {} of {}: those that ended badly or are unlike the "
                          "rest, with a neighbour of each, and a few that are alike.",
                          ranks.size(), base::countedText(all, "rank"));
}

ShownRanks shownRanks(const RunReport& report, std::size_t most) {
  ShownRanks shown{{}, report.ranks.size()};
  const auto add = [&](int rank) {
    if (shown.ranks.size() < most && std::ranges::find(shown.ranks, rank) == shown.ranks.end()) {
      shown.ranks.push_back(rank);
    }
  };
  if (shown.all > most) {
    for (const trace::RankInfo& rank : report.ranks) {
      if (endedBadly(rank)) {
        add(rank.rank);
      }
    }
  }
  if (shown.all > most && report.likeness) {
    // The middle one has a place, however many are unlike it.
    if (report.likeness->middle) {
      add(*report.likeness->middle);
    }
    for (const int rank : report.likeness->outliers()) {
      add(rank);
    }
    for (const int rank : report.likeness->outliers()) {
      if (const auto neighbour = report.likeness->neighbourOf(rank)) {
        add(*neighbour);
      }
    }
  }
  for (const trace::RankInfo& rank : report.ranks) {
    add(rank.rank);
  }
  std::ranges::sort(shown.ranks);
  return shown;
}

bool endedBadly(const trace::RankInfo& rank) {
  return rank.signal != 0 || rank.exitCode.value_or(0) != 0 || rank.state == "failed" ||
         rank.state == "killed" || rank.state == "lost";
}

}  // namespace lockstep::report::html

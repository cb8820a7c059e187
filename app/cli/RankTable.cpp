#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "app/cli/RunReportText.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/base/RangesText.h"

namespace lockstep::cli {
namespace {

using report::RunReport;

constexpr std::size_t kMostRows = 12;
constexpr std::size_t kMostRanges = 4;
constexpr std::size_t kFewHashes = 4;

std::string exitText(const trace::RankInfo& rank) {
  return rank.signal != 0 ? fmt::format("signal {}", rank.signal)
         : rank.exitCode  ? std::to_string(*rank.exitCode)
                          : "-";
}

/// Of one number of several ranks.
struct LeastAndMost {
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  [[nodiscard]] std::string text() const {
    return least == most ? base::countText(least)
                         : fmt::format("{} to {}", base::countText(least), base::countText(most));
  }
};

LeastAndMost boundsOf(const std::vector<const trace::RankInfo*>& ranks,
                      std::uint64_t trace::RankInfo::*number) {
  const auto [least, most] =
      std::minmax_element(ranks.begin(), ranks.end(),
                          [&](const auto* a, const auto* b) { return a->*number < b->*number; });
  return {(*least)->*number, (*most)->*number};
}

/// Ranks that ended alike, in one row.
struct AlikeRow {
  std::string hash;
  std::vector<const trace::RankInfo*> ranks;

  [[nodiscard]] std::vector<std::string> cells() const {
    std::vector<int> numbers;
    for (const trace::RankInfo* rank : ranks) {
      numbers.push_back(rank->rank);
    }
    return {base::rangesText(numbers, kMostRanges),
            base::countText(ranks.size()),
            ranks.front()->state,
            exitText(*ranks.front()),
            boundsOf(ranks, &trace::RankInfo::wireBytes).text(),
            boundsOf(ranks, &trace::RankInfo::wireMessages).text(),
            boundsOf(ranks, &trace::RankInfo::eventsDropped).text(),
            hash.empty() ? "-" : hash};
  }
};

/// Those that are alike in how they ended, in whether events of theirs were dropped, and in their
/// hashes where these are few.
std::vector<AlikeRow> alikeRows(const std::vector<trace::RankInfo>& ranks) {
  std::set<std::string> hashes;
  for (const trace::RankInfo& rank : ranks) {
    hashes.insert(rank.parameterHash);
  }
  const std::string many =
      hashes.size() > kFewHashes ? fmt::format("{} different", hashes.size()) : "";
  const auto alike = [&](const trace::RankInfo& rank) {
    return std::tuple(rank.state, rank.signal, rank.exitCode, rank.eventsDropped > 0,
                      many.empty() ? rank.parameterHash : many);
  };
  std::vector<AlikeRow> rows;
  for (const trace::RankInfo& rank : ranks) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const AlikeRow& of) {
      return alike(*of.ranks.front()) == alike(rank);
    });
    if (row == rows.end()) {
      rows.push_back({many.empty() ? rank.parameterHash : many, {&rank}});
    } else {
      row->ranks.push_back(&rank);
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const AlikeRow& a, const AlikeRow& b) {
    return a.ranks.size() > b.ranks.size();
  });
  return rows;
}

std::string eachRank(const RunReport& report) {
  TextTable table({"rank", "state", "exit", "wire bytes", "messages", "dropped", "parameter hash"});
  for (const trace::RankInfo& rank : report.ranks) {
    table.add({std::to_string(rank.rank), rank.state, exitText(rank),
               base::countText(rank.wireBytes), base::countText(rank.wireMessages),
               base::countText(rank.eventsDropped),
               rank.parameterHash.empty() ? "-" : rank.parameterHash});
  }
  return table.text();
}

}  // namespace

std::string rankTable(const RunReport& report, Lists lists) {
  if (lists == Lists::kWhole || report.ranks.size() <= report::kHandful) {
    return eachRank(report);
  }
  TextTable table(
      {"ranks", "count", "state", "exit", "wire bytes", "messages", "dropped", "parameter hash"});
  const std::vector<AlikeRow> rows = alikeRows(report.ranks);
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    table.add(rows[i].cells());
  }
  std::size_t more = 0;
  for (std::size_t i = kMostRows; i < rows.size(); ++i) {
    more += rows[i].ranks.size();
  }
  return table.text() +
         (more == 0 ? "" : fmt::format("  and {} more (--all)\n", base::countText(more)));
}

}  // namespace lockstep::cli

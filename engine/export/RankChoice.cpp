#include "engine/export/RankChoice.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "engine/analysis/RunAnalysis.h"
#include "engine/base/ReadNumber.h"
#include "engine/base/Try.h"
#include "engine/diagnosis/UnlikeRanks.h"

namespace lockstep::exports {
namespace {

constexpr int kHighestRank = 65'535;  // that a run file can hold

base::Error refused(const std::string& text) {
  return {base::ExitCode::kBadInput, "write ranks as 3,17,100-120, or outliers",
          fmt::format("ranks \"{}\"", text)};
}

}  // namespace

base::Result<RankChoice> parseRanks(const std::string& text) {
  RankChoice choice;
  if (text == "outliers") {
    choice.outliers = true;
    return choice;
  }
  if (text.ends_with(',')) {
    return refused(text);
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    // Not at the front, where it would be a sign.
    const std::size_t dash = word.find('-', 1);
    const auto first = base::readNumber<int>(word.substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : base::readNumber<int>(word.substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last || *last > kHighestRank) {
      return refused(text);
    }
    for (int rank = *first; rank <= *last; ++rank) {
      if (std::ranges::find(choice.ranks, rank) == choice.ranks.end()) {
        choice.ranks.push_back(rank);
      }
    }
  }
  return choice.ranks.empty() ? base::Result<RankChoice>(refused(text)) : choice;
}

base::Result<std::vector<int>> ranksOf(const RankChoice& choice, int rankCount,
                                       const std::vector<int>& unlike) {
  if (choice.outliers && unlike.empty()) {
    return base::Error{base::ExitCode::kBadInput, "no rank of this run is unlike the rest",
                       "--ranks outliers"};
  }
  for (const int rank : choice.ranks) {
    if (rank >= rankCount) {
      return base::Error{
          base::ExitCode::kBadInput,
          fmt::format("rank {} is not in this run, which has ranks 0 to {}", rank, rankCount - 1),
          "--ranks"};
    }
  }
  return choice.outliers ? unlike : choice.ranks;
}

base::Result<std::vector<int>> ranksOf(const RankChoice& choice, const std::filesystem::path& run,
                                       const Progress& progress) {
  if (choice.all()) {
    return std::vector<int>();
  }
  const Survey surveyed =
      LOCKSTEP_TRY(survey(run, {}, choice.outliers ? Depth::kAnalysis : Depth::kNames, progress));
  std::vector<int> unlike;
  if (choice.outliers) {
    unlike =
        diagnosis::rankLikeness(analysis::analyse(*surveyed.data), surveyed.ranks, surveyed.hosts)
            .outliers();
  }
  return ranksOf(choice, surveyed.rankCount(), unlike);
}

}  // namespace lockstep::exports

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/analysis/Landscape.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/diagnosis/RankWork.h"
#include "engine/trace/RunFile.h"

namespace lockstep::diagnosis {

// Note [Ranks unlike the rest]
// Of many ranks most do the same, and the question is which do not. Of each rank and figure (what
// it computes, what its transfers take, how late it comes) the values of the last kJudgedSteps
// measured steps are set against the middle one of the other ranks in the same step. A rank is
// unlike the rest
//   - by what it computes or transfers: where the interval of its mean excess (BlockBootstrap.h),
//     of 99 % over all ranks and both figures together, lies above what the rule of a late rank
//     asks (Note [Lateness]): a share of the step, some ms, and the waits for cores. And where the
//     excess is beyond kSpreads spreads of the ranks' own means, since ranks of several sorts are
//     no outliers of each other. The spread is the median of their distances from the median;
//     fewer ranks than kFewestForSpread have none, and are not judged by this;
//   - where it is late by Note [Lateness]. What it computes or transfers longer is then named as
//     what makes it late, if that explains kExplains of it.
// Where this befalls most ranks of a host, it is the host that is unlike the rest (StruckHosts.h).
//
// Ranks are alike where no figure's mean excess differs by what would be told of a rank. Those that
// are like the middle of all are the typical ones.

inline constexpr std::uint32_t kJudgedSteps = analysis::Landscape::kMostColumns;
inline constexpr double kSpreads = 6;
inline constexpr std::size_t kFewestForSpread = 9;

/// In which a rank is unlike the rest.
enum class Unlikeness : std::uint8_t { kComputing, kTransfer, kLate };
/// "computing", "transfer", "late".
std::string_view name(Unlikeness kind);

/// Ranks that are unlike the rest in the same way: one, or those of a host.
struct UnlikeRanks {
  std::vector<int> ranks;           ///< sorted
  std::optional<std::string> host;  ///< its name, where it is the host's
  std::size_t ofHost = 0;           ///< how many ranks that has
  Unlikeness kind = Unlikeness::kLate;
  double ms = 0;     ///< more than the middle rank, a step, the mean of `ranks`
  double ratio = 0;  ///< their figure over the middle rank's; 0: that has none of it
  /// Of a single rank which strikes in a part of the steps only: which, and by how much in these.
  std::optional<Period> period;
  double strikeMs = 0;
};

/// Ranks whose steps look the same.
struct AlikeRanks {
  std::vector<int> ranks;  ///< sorted
  bool unlike = false;     ///< unlike the rest of the run
};

/// Which ranks of a run are unlike the rest, and which are alike. [any-thread]
struct RankLikeness {
  std::size_t ranks = 0;
  bool judged = false;              ///< there are two ranks and enough measured steps to tell
  std::vector<UnlikeRanks> unlike;  ///< the largest first
  std::vector<AlikeRanks> classes;  ///< of all ranks; the typical ones, then by size
  std::vector<int> hosts;           ///< RankInfo::host, by rank as in `order`
  std::vector<int> order;           ///< all ranks, sorted
  std::optional<int> middle;        ///< the rank nearest to the middle in all figures

  [[nodiscard]] bool isUnlike(int rank) const;
  /// All that are unlike the rest, each once, in the order of `unlike`.
  [[nodiscard]] std::vector<int> outliers() const;
  /// The rank to set it against: a typical one, of its own host if there is one, else that with the
  /// nearest number. None: there is none.
  [[nodiscard]] std::optional<int> neighbourOf(int rank) const;
  /// The rank, its neighbour and the middle one, each once: what to look at, to see what it does.
  [[nodiscard]] std::vector<int> besides(int rank) const;
};

/// Compares the ranks of a run. `ranks` and `hosts` are those of its file.
RankLikeness rankLikeness(const analysis::RunAnalysis& run,
                          const std::vector<trace::RankInfo>& ranks,
                          const std::vector<trace::HostState>& hosts);

/// Returns "rank 7 computes 12.10 ms a step longer than the middle rank (1.8 times)".
std::string phraseOf(const UnlikeRanks& unlike);

/// Returns one line: all that are unlike the rest, and how many are alike; or that none is.
std::string unlikeText(const RankLikeness& likeness);

}  // namespace lockstep::diagnosis

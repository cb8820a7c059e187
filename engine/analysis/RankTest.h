#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep::analysis {

/// Fewer values than this of either run are not tested: the approximation would not hold.
inline constexpr std::size_t kFewestForRankTest = 8;

/// What the ranks of two samples say about their difference.
struct RankTest {
  double p = 1;             ///< two-sided: how often chance alone orders them at least so unevenly
  double shareGreater = 0;  ///< of the pairs, those in which b is greater; a tie is half a pair
};

/// Tests by Mann and Whitney's U (1947) whether values of `b` tend to be greater or smaller than
/// those of `a`: by the normal approximation with the correction for ties and the one for
/// continuity. It asks nothing of the shape of the samples and is not moved by how far outliers
/// lie; it takes the values for independent. None: fewer than kFewestForRankTest in either.
std::optional<RankTest> rankTest(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lockstep::analysis

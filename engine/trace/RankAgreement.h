#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/trace/Messages.h"

namespace lockstep::trace {

/// Names the first item in which rank `rank`'s parameters differ from rank 0's, or nothing
/// when they agree.
std::optional<std::string> firstDifference(int rank, const ParametersMessage& ofRank0,
                                           const ParametersMessage& ofRank);

/// The same for two bucket assignments of one layout number.
std::optional<std::string> firstDifference(int rank, const BucketsMessage& ofRank0,
                                           const BucketsMessage& ofRank);

/// Compares each rank's facts with rank 0's, whichever come first. Returns the differences that
/// a new fact brings to light: (rank, firstDifference).
template <typename Fact>
class Agreement {
 public:
  std::vector<std::pair<int, std::string>> add(int rank, Fact fact) {
    std::vector<std::pair<int, std::string>> differences;
    const auto compare = [&](int other, const Fact& theirs) {
      if (auto difference = firstDifference(other, *ofRank0_, theirs)) {
        differences.emplace_back(other, std::move(*difference));
      }
    };
    if (rank == 0) {
      ofRank0_ = std::move(fact);
      for (const auto& [other, theirs] : std::exchange(early_, {})) {
        compare(other, theirs);
      }
    } else if (ofRank0_.has_value()) {
      compare(rank, fact);
    } else {
      early_.emplace_back(rank, std::move(fact));
    }
    return differences;
  }

 private:
  std::optional<Fact> ofRank0_;
  std::vector<std::pair<int, Fact>> early_;
};

}  // namespace lockstep::trace

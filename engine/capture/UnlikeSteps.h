#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace lockstep::capture {

// Note [Unlike the rest]
// A rank's step is compared with the rank's own last 64: by how long it took, how long it computed
// and how much of its communication was exposed. What such a figure is off from its median, over
// the usual distance from it (1.4826 MAD, which is one standard deviation where deviations are
// normal, and at least 2 % of the step), is its score.
//
// What a step has in common on all ranks, the median of their deviations, is taken out first: a
// rank that is late makes the step of all others longer, too, and only the rank that differs from
// the others stands apart. What is in common has a score of its own, by which the step is unlike on
// all ranks.
//
// How much a score has to be is decided as it goes. It is never less than kLeastScore; while more
// than one step in a hundred is kept it rises by 10 % with each of them, and falls by 0.1 % with
// each other: a run whose steps always vary keeps those that are most unlike.

/// What of a rank's step is compared, in ticks.
struct StepFigures {
  int rank = 0;
  double duration = 0;
  double computing = 0;
  double exposed = 0;
};

/// Finds the steps and ranks that are unlike the rest, as they come.
class UnlikeSteps {
 public:
  /// Takes the next step of all ranks, and returns those of them to which it is unlike. Of a rank's
  /// first steps nothing is said.
  std::set<int> judge(const std::vector<StepFigures>& ranks);

 private:
  static constexpr std::size_t kFigures = 3;
  static constexpr std::size_t kWindow = 64;
  using Values = std::array<double, kFigures>;

  /// How far a rank's step is from what is usual, by each figure, and what is usual there.
  struct Distance {
    Values off{};
    Values usual{};  // 0: nothing is known yet
  };
  struct OfRank {
    std::array<std::vector<double>, kFigures> latest;  // at most kWindow, a ring
    std::size_t steps = 0;

    [[nodiscard]] Distance distance(const Values& values) const;
    void add(const Values& values);
  };

  std::map<int, OfRank> ranks_;
  double threshold_ = 0;
};

}  // namespace lockstep::capture

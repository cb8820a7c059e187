#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/analysis/RunData.h"

namespace lockstep::diagnosis {

// Note [What a rank does in a step]
// A step of a rank is cut into parts in which it works and does not wait for another rank, so that
// the same part of two ranks can be set against each other: its data, its forward (without the
// broadcast of buffers and the exchange of batch statistics, which wait), the time before each
// gradient, and its optimizer. A backward with buckets in flight goes on while they are reduced, so
// that the time from one gradient to the next is the rank's own. What comes behind the last
// gradient is waiting and copying out, and no part of it.

/// What a part is: a phase, or the way to the gradient of a parameter.
struct WorkPart {
  enum class Kind : std::uint8_t { kData, kForward, kGradient, kOptimizer };
  Kind kind = Kind::kData;
  std::uint32_t parameter = 0;  ///< of kGradient

  auto operator<=>(const WorkPart&) const = default;
};

/// "data", "forward", "backward", "optimizer".
std::string_view nameOf(WorkPart::Kind kind);

/// Returns "in its data", "in its forward", "before the gradient of NAME", "in its optimizer".
std::string phraseOf(const WorkPart& part, const std::string& parameter);

/// How long a rank took for each part of its steps, as a table: of a long run of many ranks there
/// are millions of them.
class RankWork {
 public:
  explicit RankWork(int rank = 0) : rank_(rank) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const std::vector<std::uint32_t>& steps() const { return steps_; }  ///< ascend
  [[nodiscard]] const std::vector<WorkPart>& parts() const { return parts_; }       ///< likewise
  /// What a part of a step took; none: the step is not known, or has no such part.
  [[nodiscard]] std::optional<double> ms(std::uint32_t step, const WorkPart& part) const;
  /// The same by their places in steps() and parts().
  [[nodiscard]] std::optional<double> at(std::size_t row, std::size_t column) const;
  /// Adds the step or the part where it is not known. Quick for steps and parts as they ascend.
  void set(std::uint32_t step, const WorkPart& part, double ms);

 private:
  std::size_t addedStep(std::uint32_t step);
  std::size_t addedPart(const WorkPart& part);

  int rank_;
  std::vector<std::uint32_t> steps_;
  std::vector<WorkPart> parts_;
  std::vector<double> ms_;  // a row of all parts each step; NaN: none
};

/// Returns what each rank did in the last 512 steps from `firstStep` on, by rank. Steps that have
/// not ended are left out.
std::vector<RankWork> rankWork(const analysis::RunData& data, std::uint32_t firstStep);

/// How much longer one rank took for a part than the middle one of the others, each step.
struct Excess {
  WorkPart part;
  std::vector<std::uint32_t> steps;
  std::vector<double> ms;  ///< of each of them
  double meanMs = 0;
};

/// What of each rank's work is an excess. What the middle is made of is found once for all ranks:
/// of a thousand there may be a dozen to ask for. The work outlives it. [any-thread]
class Excesses {
 public:
  explicit Excesses(const std::vector<RankWork>& work);
  /// Returns the excess of each part of `rank`, over the steps that all ranks have, the largest
  /// mean first.
  [[nodiscard]] std::vector<Excess> of(int rank) const;

 private:
  /// What the ranks took for a part of one step: of the sorted list the place in the middle of one
  /// that is shorter by one, with those before and after it.
  struct Middle {
    std::uint32_t step = 0;
    std::array<double, 3> ms{};
  };
  struct Part {
    WorkPart part;
    std::vector<Middle> steps;  // that all ranks have with this part
  };
  static Middle middleOf(std::uint32_t step, std::vector<double>& ms);
  [[nodiscard]] double middleOfOthers(const Middle& middle, double own) const;

  const std::vector<RankWork>& work_;
  std::vector<Part> parts_;  // of the first rank: none that it lacks is of all
};

/// How often something strikes: in every `every`-th step from `first` on.
struct Period {
  std::uint32_t first = 0;
  std::uint32_t every = 1;
};

/// Returns the period of values by step of which a few are far above the rest; none where most are
/// alike, or those few have no steady distance.
std::optional<Period> periodOf(const std::vector<std::uint32_t>& steps,
                               const std::vector<double>& ms);

}  // namespace lockstep::diagnosis

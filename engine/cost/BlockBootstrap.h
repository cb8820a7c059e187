#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace lockstep::cost {

// Note [Block bootstrap]
// Steps that follow each other are alike: a busy moment of the machine makes several long. So a
// sample of steps is drawn anew not value by value but in blocks of about sqrt(n) steps that
// follow each other (Künsch 1989), as many as fill the sample, and the mean taken; the spread of
// these means, widened by sqrt(k / (k - 1)) for k blocks, since few blocks vary too little, is the
// uncertainty of the mean. The draws are the same each time.
//
// Of more than 1024 steps, neighbours are taken together, 2 or 4 or more, and their means drawn: so
// blocks are longer, and what is like a step lies in its block all the more; and the draws of a run
// that grows cost no more than those of 1024 steps.

/// Fewer steps than this say nothing about chance.
inline constexpr std::size_t kFewestForBootstrap = 8;

/// How often a run in which nothing is the matter may have any of its ranks accused, by one rule.
inline constexpr double kAccusedByChance = 0.01;

/// A mean, and the interval in which it lies.
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  bool operator==(const MeanInterval&) const = default;
};

/// Returns the mean of `samples`, in the order of time, and the interval that leaves out
/// `tail` on either side, 0 < tail < 0.5. None: fewer than kFewestForBootstrap.
std::optional<MeanInterval> meanInterval(const std::vector<double>& samples, double tail);

/// Of more samples than this neighbours are taken together.
inline constexpr std::size_t kMostDrawn = 1024;

/// How many neighbours are taken together of so many samples.
constexpr std::size_t takenTogether(std::size_t count) {
  return std::bit_ceil((count + kMostDrawn - 1) / kMostDrawn);
}

/// What means of a sample are drawn from.
struct DrawnSample {
  std::vector<double> values;  ///< means of takenTogether(count) neighbours; without a last few
  std::size_t count = 0;       ///< of the samples
  double mean = 0;             ///< of all of them
};

/// Returns what meanInterval() does. Of many samples that are of one length, which blocks are drawn
/// is found once, and that is most of the work. One thread at a time.
class MeanIntervals {
 public:
  std::optional<MeanInterval> of(const std::vector<double>& samples, double tail);
  std::optional<MeanInterval> of(const DrawnSample& sample, double tail);

 private:
  std::size_t count_ = 0;              // of the values that are drawn from
  std::vector<std::uint16_t> places_;  // of the blocks, draw after draw
};

/// The same as meanInterval() of the mean of `b` less that of `a`.
std::optional<MeanInterval> differenceInterval(const std::vector<double>& a,
                                               const std::vector<double>& b, double tail);

/// Draws `count` numbers of steps below `count`, block by block, for figures that are no means.
std::vector<std::size_t> drawBlocks(std::size_t count, std::mt19937& random);

}  // namespace lockstep::cost

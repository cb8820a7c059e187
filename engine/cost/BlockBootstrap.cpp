#include "engine/cost/BlockBootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>

namespace lockstep::cost {
namespace {

constexpr std::size_t kDraws = 4000;
constexpr std::uint32_t kSeed = 20'260'101;

double meanOf(const double* begin, std::size_t count) {
  return std::accumulate(begin, begin + count, 0.0) / static_cast<double>(count);
}

DrawnSample drawnFrom(const std::vector<double>& samples) {
  DrawnSample drawn{{}, samples.size(), meanOf(samples.data(), samples.size())};
  const std::size_t each = takenTogether(samples.size());
  drawn.values.resize(samples.size() / each);
  for (std::size_t i = 0; i < drawn.values.size(); ++i) {
    drawn.values[i] = meanOf(samples.data() + i * each, each);
  }
  return drawn;
}

/// The blocks of a sample of steps.
struct Blocks {
  explicit Blocks(std::size_t size)
      : count(size),
        length(std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(count)))),
        needed((count + length - 1) / length),
        places(count - length + 1) {}

  /// The first step of a block.
  std::size_t draw(std::mt19937& random) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(random()) * places) >> 32);
  }

  std::size_t count;  // of the steps
  std::size_t length;
  std::size_t needed;  // fill the sample
  std::size_t places;
};

/// Draws means of a sample, block by block.
/// Blocks may overlap, so that a sample of n values has n - length + 1 of them, each equally
/// likely. A draw adds up the means of as many blocks as fill the sample; which block comes where
/// does not matter for a mean. With n = 100: blocks of 10, 91 to draw from, 10 in a draw.
class BlockMeans {
 public:
  explicit BlockMeans(const std::vector<double>& samples) : BlockMeans(drawnFrom(samples)) {}

  explicit BlockMeans(const DrawnSample& sample)
      : blocks_(sample.values.size()), mean_(sample.mean) {
    const std::vector<double>& samples = sample.values;
    const auto begin = samples.begin();
    const auto length = static_cast<std::ptrdiff_t>(blocks_.length);
    double sum = std::accumulate(begin, begin + length, 0.0);
    means_.push_back(sum / static_cast<double>(length));
    for (std::size_t next = blocks_.length; next < samples.size(); ++next) {
      sum += samples[next] - samples[next - blocks_.length];
      means_.push_back(sum / static_cast<double>(length));
    }
    // Steps at either end are in fewer blocks than others: the draws have a mean of their own.
    centre_ =
        std::accumulate(means_.begin(), means_.end(), 0.0) / static_cast<double>(means_.size());
    const auto needed = static_cast<double>(blocks_.needed);
    widen_ = needed > 1 ? std::sqrt(needed / (needed - 1)) : 1;
  }

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }

  /// `next`: returns the first step of each block of the draw.
  template <typename Next>
  double draw(const Next& next) const {
    double sum = 0;
    for (std::size_t block = 0; block < blocks_.needed; ++block) {
      sum += means_[next()];
    }
    return mean_ + widen_ * (sum / static_cast<double>(blocks_.needed) - centre_);
  }
  double draw(std::mt19937& random) const {
    return draw([&] { return blocks_.draw(random); });
  }

 private:
  Blocks blocks_;
  std::vector<double> means_;
  double mean_ = 0;
  double centre_ = 0;
  double widen_ = 1;
};

MeanInterval between(double mean, std::vector<double> draws, double tail) {
  const auto from = static_cast<std::size_t>(tail * static_cast<double>(draws.size()));
  const auto at = [&](std::size_t place) {
    const auto found = draws.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(draws.begin(), found, draws.end());
    return *found;
  };
  // Each call moves only one quantile to its place, which is cheaper than sorting 4000 draws; the
  // second call does not mind how the first left the rest.
  const double low = at(from);
  return {mean, low, at(draws.size() - 1 - from)};
}

}  // namespace

std::optional<MeanInterval> meanInterval(const std::vector<double>& samples, double tail) {
  return MeanIntervals().of(samples, tail);
}

std::optional<MeanInterval> MeanIntervals::of(const std::vector<double>& samples, double tail) {
  return samples.size() < kFewestForBootstrap ? std::nullopt : of(drawnFrom(samples), tail);
}

std::optional<MeanInterval> MeanIntervals::of(const DrawnSample& sample, double tail) {
  static_assert(kMostDrawn <= 0x10000);  // a number fits into an element of places_
  if (sample.count < kFewestForBootstrap) {
    return std::nullopt;
  }
  const BlockMeans means(sample);
  const Blocks& blocks = means.blocks();
  if (count_ != blocks.count) {
    count_ = blocks.count;
    std::mt19937 random(kSeed);
    places_.resize(kDraws * blocks.needed);
    std::generate(places_.begin(), places_.end(),
                  [&] { return static_cast<std::uint16_t>(blocks.draw(random)); });
  }
  std::vector<double> draws(kDraws);
  auto place = places_.begin();
  std::generate(draws.begin(), draws.end(), [&] { return means.draw([&] { return *place++; }); });
  return between(means.mean(), std::move(draws), tail);
}

std::optional<MeanInterval> differenceInterval(const std::vector<double>& a,
                                               const std::vector<double>& b, double tail) {
  if (a.size() < kFewestForBootstrap || b.size() < kFewestForBootstrap) {
    return std::nullopt;
  }
  const BlockMeans ofA(a);
  const BlockMeans ofB(b);
  std::mt19937 random(kSeed);
  std::vector<double> draws(kDraws);
  std::generate(draws.begin(), draws.end(), [&] { return ofB.draw(random) - ofA.draw(random); });
  return between(ofB.mean() - ofA.mean(), std::move(draws), tail);
}

std::vector<std::size_t> drawBlocks(std::size_t count, std::mt19937& random) {
  std::vector<std::size_t> drawn;
  while (drawn.size() < count) {
    const Blocks blocks(count);
    const std::size_t first = blocks.draw(random);
    for (std::size_t i = 0; i < blocks.length && drawn.size() < count; ++i) {
      drawn.push_back(first + i);
    }
  }
  return drawn;
}

}  // namespace lockstep::cost

#include "engine/analysis/BlockBootstrap.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>

namespace lockstep::analysis {
namespace {

constexpr std::size_t kDraws = 4000;
constexpr std::uint32_t kSeed = 20'260'101;

/// Draws means of a sample, block by block.
/// Blocks may overlap, so that a sample of n values has n - length + 1 of them, each equally
/// likely. A draw adds up the means of as many blocks as fill the sample; which block comes where
/// does not matter for a mean. With n = 100: blocks of 10, 91 to draw from, 10 in a draw.
class BlockMeans {
 public:
  explicit BlockMeans(const std::vector<double>& samples) {
    const std::size_t count = samples.size();
    length_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(count)));
    blocks_ = (count + length_ - 1) / length_;
    mean_ = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(count);
    // The mean of each block, by a sum that moves on by one value.
    double sum = std::accumulate(samples.begin(),
                                 samples.begin() + static_cast<std::ptrdiff_t>(length_), 0.0);
    means_.push_back(sum / static_cast<double>(length_));
    for (std::size_t next = length_; next < count; ++next) {
      sum += samples[next] - samples[next - length_];
      means_.push_back(sum / static_cast<double>(length_));
    }
    // Steps at either end are in fewer blocks than others: the draws have a mean of their own.
    centre_ =
        std::accumulate(means_.begin(), means_.end(), 0.0) / static_cast<double>(means_.size());
    widen_ = blocks_ > 1
                 ? std::sqrt(static_cast<double>(blocks_) / static_cast<double>(blocks_ - 1))
                 : 1;
  }

  [[nodiscard]] double mean() const { return mean_; }

  double draw(std::mt19937& random) const {
    double sum = 0;
    for (std::size_t block = 0; block < blocks_; ++block) {
      // The 32 random bits as a fraction of the number of blocks. std::uniform_int_distribution may
      // draw other numbers with another standard library, and the same run would get other
      // intervals.
      sum += means_[static_cast<std::size_t>(
          (static_cast<std::uint64_t>(random()) * means_.size()) >> 32)];
    }
    // Only how far a draw lies from the others' centre counts: the interval stays around the true
    // mean of the sample.
    return mean_ + widen_ * (sum / static_cast<double>(blocks_) - centre_);
  }

 private:
  std::size_t length_ = 1;
  std::size_t blocks_ = 1;
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
  if (samples.size() < kFewestForBootstrap) {
    return std::nullopt;
  }
  const BlockMeans means(samples);
  std::mt19937 random(kSeed);
  std::vector<double> draws(kDraws);
  std::generate(draws.begin(), draws.end(), [&] { return means.draw(random); });
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

}  // namespace lockstep::analysis

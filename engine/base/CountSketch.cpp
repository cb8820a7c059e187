#include "engine/base/CountSketch.h"

#include <bit>
#include <type_traits>

namespace lockstep::base {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kSigns = 32;  // rows of kLanes elements in a block, and bits of a word
static_assert(kLanes * kSigns == CountSketch::kCounters);

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

// Note [A block of a sketch]
//
// A block has as many elements as there are counters, 256, seen as 32 rows of 8 lanes. Five numbers
// of 64 bits are drawn for it, from its place in the vector alone, so that every rank draws the
// same:
//
//   draws 1 to 4   a word of 32 bits for each lane; its bits, from the top, are the signs by row
//   draw 5         by how much the block is turned: element i goes to counter (i + turn) % 256
//
// The sign is the float's own sign bit, flipped or not: no multiplication. The counters are twice
// as many while they are summed, so that turned blocks need no wrapping round and the inner loop
// runs over memory in order; counters() folds the second half onto the first.
template <typename Real>
void CountSketch::addBlock(const Real* values, std::array<double, kLanes>& squares) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Real) - 1);
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ull;
  constexpr std::size_t kDraws = kLanes / 2 + 1;
  const std::uint64_t from = blocks_++ * kDraws;
  std::array<Bits, kLanes> signs;
  for (std::size_t pair = 0; pair < kLanes / 2; ++pair) {
    const std::uint64_t drawn = mix((from + pair + 1) * kStep);
    constexpr int kShift = 8 * sizeof(Real) - 32;
    signs[2 * pair] = static_cast<Bits>(drawn & 0xFFFF'FFFF) << kShift;
    signs[2 * pair + 1] = static_cast<Bits>(drawn >> 32) << kShift;
  }
  double* __restrict sums = sums_.data() + mix((from + kDraws) * kStep) % kCounters;
  std::array<double, kLanes> own = squares;  // in registers
  for (std::size_t row = 0; row < kSigns; ++row) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto bits = std::bit_cast<Bits>(values[row * kLanes + lane]);
      const double value = std::bit_cast<Real>(bits ^ ((signs[lane] << row) & kSign));
      sums[row * kLanes + lane] += value;
      own[lane] += value * value;
    }
  }
  squares = own;
}

template <typename Real>
double CountSketch::addAll(const Real* values, std::size_t count) {
  std::array<double, kLanes> squares{};
  std::size_t at = 0;
  for (; at + kCounters <= count; at += kCounters) {
    addBlock(values + at, squares);
  }
  if (at < count) {
    // Zeros add nothing: the last block is filled up with them.
    std::array<Real, kCounters> last{};
    for (std::size_t i = at; i < count; ++i) {
      last[i - at] = values[i];
    }
    addBlock(last.data(), squares);
  }
  double sum = 0;
  for (const double square : squares) {
    sum += square;
  }
  return sum;
}

double CountSketch::add(const float* values, std::size_t count) {
  return addAll(values, count);
}

double CountSketch::add(const double* values, std::size_t count) {
  return addAll(values, count);
}

std::vector<double> CountSketch::counters() const {
  std::vector<double> folded(sums_.begin(), sums_.begin() + kCounters);
  for (std::size_t i = 0; i < kCounters; ++i) {
    folded[i] += sums_[kCounters + i];
  }
  return folded;
}

}  // namespace lockstep::base

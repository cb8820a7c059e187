#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::base {

/// A count-sketch of a long vector: kCounters sums of its elements, each element in one of them
/// with a sign, both drawn by its place (Charikar, Chen, Farach-Colton 2002). It is linear, so
/// that the difference of two sketches is the sketch of the difference, and the Euclidean norm of
/// a sketch estimates that of the vector: its square is unbiased and off by sqrt(2 / kCounters)
/// = 9 % of itself at most, one standard deviation.
///
/// Elements come in blocks of kCounters, which fill all counters once, turned by a number drawn
/// for the block: two elements of one block never meet, two of different blocks with a chance of
/// 1 / kCounters, as if each were drawn alone, and memory is walked in order.
///
/// Sketches can be compared when they were added to in the same pieces. How a block is drawn:
/// Note [A block of a sketch] in the .cpp.
class CountSketch {
 public:
  static constexpr std::size_t kCounters = 256;

  /// Adds the next elements, from the beginning of a block. Returns the sum of their squares.
  double add(const float* values, std::size_t count);
  double add(const double* values, std::size_t count);

  /// An element that is not finite makes counters so.
  [[nodiscard]] std::vector<double> counters() const;

 private:
  template <typename Real>
  double addAll(const Real* values, std::size_t count);
  template <typename Real>
  void addBlock(const Real* values, std::array<double, 8>& squares);

  std::uint64_t blocks_ = 0;
  std::array<double, 2 * kCounters> sums_{};  // the second half folds onto the first
};

}  // namespace lockstep::base

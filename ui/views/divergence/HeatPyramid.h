#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/analysis/Divergence.h"
#include "engine/run/Grown.h"

namespace lockstep::ui {

enum class HeatMeasure : std::uint8_t {
  kHashes,  ///< how many ranks hold other bits than the reference class
  kNorms,   ///< largest difference of a rank's norm from the first rank's, of that norm
};

/// The worst of neighbouring samples for each parameter, in levels of 1, 2, 4, ... samples: a
/// picture of any width costs what its pixels cost, and a bad cell is never folded away.
class HeatPyramid {
 public:
  static constexpr std::int16_t kUnknown = -1;
  static constexpr std::int16_t kEqual = 0;
  static constexpr std::int16_t kMost = 255;
  static constexpr std::int16_t kNotFinite = 256;  ///< whatever the ranks have in common

  explicit HeatPyramid(HeatMeasure measure) : measure_(measure) {}

  [[nodiscard]] std::size_t samples() const { return blocks(0); }
  /// Adds the samples after these, up to `end`; of a matrix that goes on with that of the last
  /// call.
  void add(const analysis::ReplicaMatrix& replicas, std::size_t end);
  /// These with all other samples of the matrix, to be looked at. A copy costs little.
  [[nodiscard]] HeatPyramid with(const analysis::ReplicaMatrix& replicas) const;

  [[nodiscard]] std::size_t levels() const { return levels_.size(); }
  /// How many blocks of 2^level samples there are.
  [[nodiscard]] std::size_t blocks(std::size_t level) const {
    return level < levels_.size() ? levels_[level].size() / parameters_ : 0;
  }
  /// kUnknown, kEqual, kNotFinite, or a badness of 1 to kMost: of kHashes the share of ranks that
  /// differ, of kNorms the logarithm of the difference.
  [[nodiscard]] std::int16_t at(std::size_t level, std::size_t block, std::size_t parameter) const {
    return levels_[level][block * parameters_ + parameter];
  }
  /// Returns the level whose blocks are the smallest of at least that many samples.
  [[nodiscard]] std::size_t levelFor(double samples) const;

 private:
  void addSamples(const analysis::ReplicaMatrix& replicas, std::size_t end);
  void addCoarser(bool halves);

  HeatMeasure measure_;
  std::size_t parameters_ = 0;
  // Block x parameter. Of what add() took only whole blocks, which no later sample changes.
  std::vector<run::Grown<std::int16_t>> levels_;
};

/// Returns how far norms of a parameter are from the first rank's at a sample, the largest over
/// ranks, of that norm; below 0: unknown.
double normDifference(const analysis::ReplicaMatrix& replicas, std::size_t sample,
                      std::size_t parameter);

}  // namespace lockstep::ui

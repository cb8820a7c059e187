#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/capture/DetailWriter.h"

namespace lockstep::capture {

/// Counts what was left out of a run file, for the sentence that says so.
class LeftOut {
 public:
  /// How many of a rank's first steps are kept whole, and every how many of the later ones.
  static constexpr std::uint32_t kFirst = 20;
  static constexpr std::uint32_t kEvery = 100;
  /// Every how many steps with sums alone there is a loss.
  static constexpr std::uint32_t kLossEvery = 10;

  explicit LeftOut(const DetailOptions& options) : options_(options) {}

  /// Counts a step, with the ranks of which all was kept since they were unlike the rest;
  /// `sumsOnly` of all others there are sums alone.
  void count(std::uint32_t step, const std::vector<int>& unlike, bool sumsOnly);
  /// Says from which step on there are sums alone, since the limit is near, or nothing.
  void sumsFrom(std::uint32_t step) { sumsFrom_ = step; }
  void nothingFrom(std::uint32_t step) { nothingFrom_ = step; }

  /// Empty while nothing was left out.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::string unlikeText() const;

  DetailOptions options_;
  std::uint64_t steps_ = 0;
  std::uint64_t sumsOnly_ = 0;
  std::uint64_t unlike_ = 0;
  std::vector<std::string> firstUnlike_;
  std::optional<std::uint32_t> sumsFrom_;
  std::optional<std::uint32_t> nothingFrom_;
};

}  // namespace lockstep::capture

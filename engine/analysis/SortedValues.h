#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cost/Sample.h"

namespace lockstep::analysis {

// Note [Values that become more]
// Values are kept in runs that are sorted, each at most an eighth as long as the one before: what
// is added is a run of its own, and what is not that much shorter than the run before becomes one
// with it. So there are two or three runs of 1,000 values and one or two more of 100,000, and a
// copy costs as much as there are runs, which never change. Whatever is asked for is found by
// searches in stretches of the runs that soon are short (SortedValues::pairAt).
//
// A quantile that is asked again and again stays near where it was. So of each there is a mark, a
// value that once was it, and of each run the place is known at which the mark divides it: searches
// begin there. What is added says by its own few values how many more are below the mark; of two
// runs that become one the places are added. Only where the mark has come away from its quantile is
// it set anew. So values that are added, and a quantile, cost the same after an hour as after a
// minute, and what is read of long runs are a few neighbours.

/// Values that become more, asked for what they are in their order. A copy costs little.
class SortedValues {
 public:
  static constexpr std::size_t kMostMarks = 4;

  /// Of none, of which the median will be asked again and again.
  SortedValues() = default;
  /// `parts`: of the quantiles that will be asked again and again, at most kMostMarks. All others
  /// are told as well.
  static SortedValues marking(std::initializer_list<double> parts);

  void add(std::vector<double> values);
  /// Adds those of another.
  void add(const SortedValues& other);
  /// Adds them in a run of their own, whatever its length: to a copy that is asked once, which is
  /// not worth a merge.
  void addApart(std::vector<double> values);
  /// All of these and `more`.
  [[nodiscard]] SortedValues with(std::vector<double> more) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The value with `index` before it.
  [[nodiscard]] double at(std::size_t index) const;
  /// How many it is true of, where it is so of the first of them only.
  template <typename Is>
  [[nodiscard]] std::size_t count(const Is& is) const {
    std::size_t count = 0;
    for (const Run& run : runs_) {
      count += static_cast<std::size_t>(
          std::partition_point(run.values->begin(), run.values->end(), is) - run.values->begin());
    }
    return count;
  }
  /// In the order in which they came.
  [[nodiscard]] double sum() const { return sum_; }
  /// What cost::median and cost::sortedQuantile say of them.
  [[nodiscard]] std::optional<double> median() const;
  [[nodiscard]] double quantile(double part) const;

 private:
  /// Of the parts that are asked.
  template <typename T>
  using OfMarks = std::array<T, kMostMarks>;
  struct Run {
    std::shared_ptr<const std::vector<double>> values;
    OfMarks<std::uint32_t> below{};  // how many of them are less than the mark
  };

  void mergeLast();
  void keepMarks();
  [[nodiscard]] std::size_t indexOf(std::size_t mark) const;
  /// The mark that `index` is near to; none: it is near to none.
  [[nodiscard]] std::optional<std::size_t> markNear(std::size_t index) const;
  /// The value with `index` before it, and the next one; where it is the last, it itself.
  [[nodiscard]] std::pair<double, double> pairAt(std::size_t index) const;

  std::vector<Run> runs_;  // none is empty
  std::size_t size_ = 0;
  double sum_ = 0;
  std::size_t marks_ = 1;  // how many there are
  OfMarks<double> parts_{0.5};
  OfMarks<double> values_{};  // of the marks
  bool others_ = false;       // runs of another have come, which are divided by its marks
};

/// Medians of several figures. A copy costs little.
template <std::size_t kFigures>
class GrowingMedians {
 public:
  void add(std::size_t figure, double value) { values_[figure].push_back(value); }
  /// Sorts in what was added, that copies need not copy it.
  void settle() {
    for (std::size_t figure = 0; figure < kFigures; ++figure) {
      settled_[figure].add(std::exchange(values_[figure], {}));
    }
  }
  [[nodiscard]] std::optional<double> median(std::size_t figure) const {
    const SortedValues& settled = settled_[figure];
    // Of those that came all at once one is looked for, and none is sorted.
    return settled.size() == 0 ? cost::median(values_[figure])
                               : settled.with(values_[figure]).median();
  }

 private:
  std::array<std::vector<double>, kFigures> values_;  // that are not settled yet
  std::array<SortedValues, kFigures> settled_;
};

}  // namespace lockstep::analysis

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
// with it. So there are two or three runs of 1,000 values and one or two more of 100,000. Whatever
// is asked for is found by searches in stretches of the runs that soon are short
// (SortedValues::searchedAt).
//
// A quantile that is asked again and again stays near where it was. So of each there is a mark: the
// values around it, of all runs, in one list, and how many come before them.
//
//    runs   ------------------oooooooo--------------------------------------
//                ------------oooo------
//                       --ooo--
//    mark   before: 71,300   ooooooooooooooo   and the quantile is one of these
//
// What is added says by its own few values which of them are among those around the mark, and how
// many come before; what a copy has of its own (SortedValues::with) is looked at beside them. Only
// where the quantile has come to an end of the list, the mark is set anew, by a search. So a
// quantile costs the same after an hour as after a minute, and none of the runs is read for it.
// Values of several ranks have marks of their own (SortedValues::join). As many more come at a time
// as there are ranks, and a quantile of all moves by the root of that: so far more is near to it.

/// Values that become more, asked for what they are in their order. A copy costs two pointers.
class SortedValues {
 public:
  static constexpr std::size_t kMostMarks = 4;

  /// Of none, of which the median will be asked again and again.
  SortedValues() : SortedValues(marking({0.5})) {}
  /// `parts`: of the quantiles that will be asked again and again, at most kMostMarks. All others
  /// are told as well.
  static SortedValues marking(std::initializer_list<double> parts);

  void add(std::vector<double> values);
  /// Adds them in a run of their own, whatever its length: to a copy that is asked once, which is
  /// not worth a merge.
  void addApart(std::vector<double> values);
  /// All of these and `more`.
  [[nodiscard]] SortedValues with(std::vector<double> more) const;

  /// Several lists, each of values that become more.
  using Lists = std::vector<const SortedValues*>;
  /// Makes these all values of some lists, in which the same is marked; `added`: those that have
  /// come to them since the last call. The lists stay where the values are: of all together there
  /// are only marks.
  void join(const Lists& lists, std::vector<double> added);
  /// All values of the lists that were joined here, with what these have apart now.
  [[nodiscard]] SortedValues joined(const Lists& lists) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  /// The value with `index` before it.
  [[nodiscard]] double at(std::size_t index) const { return pairAt(index).first; }
  /// The greatest; there has to be one.
  [[nodiscard]] double greatest() const { return greatest_; }
  /// How many it is true of, where it is so of the first of them only.
  template <typename Is>
  [[nodiscard]] std::size_t count(const Is& is) const {
    std::size_t count = 0;
    eachRun([&](const Run& run) {
      count += static_cast<std::size_t>(
          std::partition_point(run.values->begin(), run.values->end(), is) - run.values->begin());
    });
    return count;
  }
  /// In the order in which they came.
  [[nodiscard]] double sum() const { return sum_; }
  /// What cost::median and cost::sortedQuantile say of them.
  [[nodiscard]] std::optional<double> median() const;
  [[nodiscard]] double quantile(double part) const;

  /// Whether quantile() is told by a mark, so that no run is read for it.
  [[nodiscard]] bool isMarked(double part) const;
  /// How often a mark was set anew, by a search through runs.
  [[nodiscard]] std::size_t searches() const { return kept_->searches; }

 private:
  using Pair = std::pair<double, double>;
  /// Of the parts that are asked.
  template <typename T>
  using OfMarks = std::array<T, kMostMarks>;
  struct Run {
    std::shared_ptr<const std::vector<double>> values;
    OfMarks<std::size_t> below{};  // about so many of them come before a mark: searches begin there
  };
  struct Mark {
    double part = 0;
    double value = 0;        // the quantile when it was set
    std::size_t before = 0;  // what is near
    std::shared_ptr<const std::vector<double>> near;

    [[nodiscard]] std::size_t indexAmong(std::size_t size) const;
    void take(const std::vector<double>& sorted);
    /// Whether the quantile of so many values has come to an end of what is near, or that is more
    /// than so many.
    [[nodiscard]] bool isFar(std::size_t size, std::size_t mostNear) const;
    /// SortedValues::pairAt of `size` values and of `more`; none: it is not near.
    [[nodiscard]] std::optional<Pair> pairAt(std::size_t index, std::size_t size,
                                             const std::vector<double>& more) const;
  };
  /// What copies have in common; never changed once it is somebody's.
  struct Kept {
    std::vector<Run> runs;  // none is empty
    std::vector<Mark> marks;
    std::size_t size = 0;
    std::size_t lists = 1;  // that were joined
    std::size_t searches = 0;

    /// How many values are near to a mark on either side, at most, once it is set.
    [[nodiscard]] std::size_t reach() const;
  };

  explicit SortedValues(std::shared_ptr<const Kept> kept) : kept_(std::move(kept)) {}

  static void mergeLast(Kept& kept);
  void keep(std::shared_ptr<Kept> kept);
  static void setMark(Kept& kept, std::size_t number, double value);
  template <typename Take>
  void eachRun(const Take& take) const {
    std::ranges::for_each(kept_->runs, take);
    std::ranges::for_each(apart_, take);
  }
  /// The mark that `index` is near to; none: it is near to none.
  [[nodiscard]] std::optional<std::size_t> markNear(std::size_t index) const;
  /// The value with `index` before it, and the next one; where it is the last, it itself.
  [[nodiscard]] Pair pairAt(std::size_t index) const;
  /// The same by a mark; none: by none.
  [[nodiscard]] std::optional<Pair> markedAt(std::size_t index) const;
  /// The same by a search through all runs.
  [[nodiscard]] Pair searchedAt(std::size_t index) const;

  std::shared_ptr<const Kept> kept_;
  std::vector<Run> apart_;  // beside what is kept; none is empty
  std::size_t size_ = 0;    // of all
  double sum_ = 0;
  double greatest_ = 0;
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

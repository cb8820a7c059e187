#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::ui {

/// One value of a metric on one rank.
struct MetricPoint {
  std::uint32_t step = 0;
  std::uint64_t ticks = 0;  ///< RunModel::toNs gives the time
  double value = 0;
};

/// The values of one metric on one rank, by time, and what becomes of any stretch of them in a
/// number of steps that grows with the logarithm of its length: extremes and sums of 16 values
/// are kept, of 16 such, and so on (2 bytes a value).
class CounterSeries {
 public:
  /// What is known of a stretch. Values that are no finite number count for nothing.
  struct Summary {
    double minimum = std::numeric_limits<double>::infinity();
    double maximum = -std::numeric_limits<double>::infinity();
    double sum = 0;
    std::size_t count = 0;

    [[nodiscard]] bool any() const { return count > 0; }
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
    bool operator==(const Summary&) const = default;
  };

  /// Puts a value into its place by time, after those of the same time. At the end that is cheap.
  void add(const MetricPoint& point);

  [[nodiscard]] const std::vector<MetricPoint>& points() const { return points_; }
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  /// The first value that was taken later than `ticks`; size() without one.
  [[nodiscard]] std::size_t firstAfter(std::uint64_t ticks) const;

  /// Of the values from `first` up to and without `last`.
  [[nodiscard]] Summary summary(std::size_t first, std::size_t last) const;
  [[nodiscard]] Summary summary() const { return summary(0, size()); }
  /// The first of the largest values of a stretch; nothing where none is finite.
  [[nodiscard]] std::optional<std::size_t> peak(std::size_t first, std::size_t last) const;

 private:
  [[nodiscard]] Summary item(std::size_t level, std::size_t index) const;
  void rebuildFrom(std::size_t point);
  template <typename Visit>
  void visit(std::size_t first, std::size_t last, Visit act) const;

  std::vector<MetricPoint> points_;
  std::vector<std::vector<Summary>>
      levels_;  // [k]: of 16 items of the level below, points at first
};

/// The metrics of a run: losses, what the recorder counts of each rank, what hooks count.
/// [ui-thread]
class Counters {
 public:
  void add(const std::string& name, int rank, const MetricPoint& point);

  /// Names that have values, in the order of the alphabet.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Null where there is none.
  [[nodiscard]] const CounterSeries* find(const std::string& name, int rank) const;
  /// The smallest and largest value of all ranks together.
  [[nodiscard]] CounterSeries::Summary summary(const std::string& name) const;

 private:
  std::map<std::string, std::map<int, CounterSeries>> series_;
};

}  // namespace lockstep::ui

#include "ui/model/Counters.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr std::size_t kFanOut = 16;
constexpr std::size_t kLevelsAtMost = 16;  // 16 to the 16th values

void absorb(CounterSeries::Summary& into, const CounterSeries::Summary& other) {
  into.minimum = std::min(into.minimum, other.minimum);
  into.maximum = std::max(into.maximum, other.maximum);
  into.sum += other.sum;
  into.count += other.count;
}

// Values that are no finite number are in no extreme, but have their place, so that indices stay
// those of points_.
CounterSeries::Summary summaryOf(double value) {
  return std::isfinite(value) ? CounterSeries::Summary{value, value, value, 1}
                              : CounterSeries::Summary{};
}

std::size_t blocksOf(std::size_t items) {
  return (items + kFanOut - 1) / kFanOut;
}

}  // namespace

// Note [Levels of a series]
//
// "Smallest and largest value of points 3 to 70" is asked for every pixel of a plot. Level 0 are
// the points themselves; levels_[k] holds a summary of each 16 items of the level below, and there
// are levels until one has at most 16 items:
//
//    points      0 ............. 15 | 16 ........... 31 | ... | 64 .... 79 |
//    levels_[0]  block 0            | block 1           | ... | block 4    |
//
// visit() takes a stretch apart into single points up to the next edge of a block, whole blocks,
// and single points after the last edge; and the blocks in the same way into items of the level
// above, as long as two of those may lie within. Points 3 to 70 are 13 points (3 to 15), blocks 1
// to 3 and 7 points (64 to 70): 23 items for 68 values, and never more than 31 a level.
//
// A point at the end changes one summary a level. One that comes late shifts all after it, so all
// blocks from its own on are summed again.
CounterSeries::Summary CounterSeries::item(std::size_t level, std::size_t index) const {
  return level == 0 ? summaryOf(points_[index].value) : levels_[level - 1][index];
}

void CounterSeries::add(const MetricPoint& point) {
  const bool later = points_.empty() || points_.back().ticks <= point.ticks;
  if (!later) {
    const std::size_t at = firstAfter(point.ticks);
    points_.insert(points_.begin() + static_cast<std::ptrdiff_t>(at), point);
    rebuildFrom(at);
    return;
  }
  points_.push_back(point);
  const Summary one = summaryOf(point.value);
  std::size_t block = points_.size() - 1;
  for (std::vector<Summary>& level : levels_) {
    block /= kFanOut;
    if (block == level.size()) {
      level.emplace_back();
    }
    absorb(level[block], one);
  }
  const std::size_t top = levels_.empty() ? points_.size() : levels_.back().size();
  if (top > kFanOut) {
    rebuildFrom(points_.size() - 1);  // the top has become long enough for another above it
  }
}

// Sums the blocks anew that hold `point` or later ones, on every level, and adds levels until the
// highest has no more than kFanOut items.
void CounterSeries::rebuildFrom(std::size_t point) {
  std::size_t items = points_.size();
  std::size_t from = point;
  for (std::size_t level = 0; items > kFanOut; ++level) {
    const bool fresh = level == levels_.size();
    if (fresh) {
      levels_.emplace_back();
    }
    // A new level has no blocks yet, so all of it is summed.
    from = fresh ? 0 : from / kFanOut;
    levels_[level].resize(blocksOf(items));
    for (std::size_t block = from; block < levels_[level].size(); ++block) {
      Summary sum;
      for (std::size_t i = block * kFanOut; i < std::min(items, (block + 1) * kFanOut); ++i) {
        absorb(sum, item(level, i));
      }
      levels_[level][block] = sum;
    }
    items = levels_[level].size();
  }
}

std::size_t CounterSeries::firstAfter(std::uint64_t ticks) const {
  const auto at = std::ranges::upper_bound(points_, ticks, {}, &MetricPoint::ticks);
  return static_cast<std::size_t>(at - points_.begin());
}

// Calls act(level, index) for few items that together are the stretch, from the first to the
// last: as large ones as fit.
template <typename Visit>
void CounterSeries::visit(std::size_t first, std::size_t last, Visit act) const {
  struct Tail {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  std::array<Tail, kLevelsAtMost> tails;
  std::size_t level = 0;
  for (; level < levels_.size() && last - first >= 2 * kFanOut; ++level) {
    // Up to the first edge of a block and from the last one on, the items of this level are taken
    // singly.
    const std::size_t begin = blocksOf(first) * kFanOut;
    const std::size_t end = last / kFanOut * kFanOut;
    for (std::size_t i = first; i < begin; ++i) {
      act(level, i);
    }
    // The tail comes after all that lies before it, so that items are visited in order (peak wants
    // the first of equal ones); it waits here until the levels above are done.
    tails[level] = {end, last};
    first = begin / kFanOut;
    last = end / kFanOut;
  }
  for (std::size_t i = first; i < last; ++i) {
    act(level, i);
  }
  while (level-- > 0) {
    for (std::size_t i = tails[level].from; i < tails[level].to; ++i) {
      act(level, i);
    }
  }
}

CounterSeries::Summary CounterSeries::summary(std::size_t first, std::size_t last) const {
  Summary sum;
  visit(first, std::max(first, std::min(last, size())),
        [&](std::size_t level, std::size_t index) { absorb(sum, item(level, index)); });
  return sum;
}

std::optional<std::size_t> CounterSeries::peak(std::size_t first, std::size_t last) const {
  Summary best;
  std::size_t level = 0;
  std::size_t index = 0;
  visit(first, std::max(first, std::min(last, size())), [&](std::size_t l, std::size_t i) {
    const Summary one = item(l, i);
    if (one.any() && (!best.any() || one.maximum > best.maximum)) {
      best = one;
      level = l;
      index = i;
    }
  });
  if (!best.any()) {
    return std::nullopt;
  }
  // Down to the point. A maximum was copied up unchanged, so it is found again by equality, and not
  // NaN.
  while (level > 0) {
    --level;
    index *= kFanOut;
    while (!(item(level, index).maximum == best.maximum)) {
      ++index;
    }
  }
  return index;
}

void Counters::add(const std::string& name, int rank, const MetricPoint& point) {
  series_[name][rank].add(point);
}

std::vector<std::string> Counters::names() const {
  std::vector<std::string> names;
  for (const auto& [name, ranks] : series_) {
    names.push_back(name);
  }
  return names;
}

const CounterSeries* Counters::find(const std::string& name, int rank) const {
  const auto ranks = series_.find(name);
  if (ranks == series_.end()) {
    return nullptr;
  }
  const auto series = ranks->second.find(rank);
  return series == ranks->second.end() ? nullptr : &series->second;
}

CounterSeries::Summary Counters::summary(const std::string& name) const {
  CounterSeries::Summary sum;
  if (const auto ranks = series_.find(name); ranks != series_.end()) {
    for (const auto& [rank, series] : ranks->second) {
      absorb(sum, series.summary());
    }
  }
  return sum;
}

}  // namespace lockstep::ui

#include "engine/analysis/SortedValues.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace lockstep::analysis {
namespace {

constexpr std::size_t kShorter = 8;  // so many times, a run than the one before
constexpr std::size_t kPicked = 48;

/// What of some runs a value is looked for in.
class Stretches {
 public:
  template <typename Runs>
  Stretches(const Runs& runs, std::size_t index) : index_(index) {
    for (const auto& run : runs) {
      const double* begin = run->data();
      const double* end = begin + run->size();
      all_.push_back({begin, end, end, begin});
      left_ += run->size();
    }
  }

  [[nodiscard]] std::size_t left() const { return left_; }

  /// Makes them shorter by one value; returns the wanted one and the next where that is it.
  std::optional<std::pair<double, double>> divide(int turn) {
    const Stretch& longest = *std::ranges::max_element(all_, {}, &Stretch::size);
    const double value = longest.begin[placeIn(longest.size(), turn)];
    std::size_t smaller = 0;
    for (Stretch& stretch : all_) {
      stretch.at = std::lower_bound(stretch.begin, stretch.end, value);
      smaller += static_cast<std::size_t>(stretch.at - stretch.begin);
    }
    if (index_ < smaller) {
      for (Stretch& stretch : all_) {
        stretch.end = stretch.at;
      }
      left_ = smaller;
      return std::nullopt;
    }
    std::size_t notGreater = 0;
    for (Stretch& stretch : all_) {
      if (stretch.at != stretch.end && *stretch.at <= value) {
        stretch.at = std::upper_bound(stretch.at, stretch.end, value);
      }
      notGreater += static_cast<std::size_t>(stretch.at - stretch.begin);
    }
    if (index_ + 1 < notGreater) {
      return std::pair(value, value);
    }
    // The value itself where it is the last of its like: the next is picked.
    const bool isLast = index_ < notGreater;
    for (Stretch& stretch : all_) {
      stretch.begin = stretch.at;
    }
    left_ -= notGreater;
    if (isLast) {
      return std::pair(value, least().value_or(value));
    }
    index_ -= notGreater;
    return std::nullopt;
  }

  /// The wanted one and the next, of all that is left.
  [[nodiscard]] std::pair<double, double> pick() const {
    std::vector<double> values;
    for (const Stretch& stretch : all_) {
      // The next may be the first that is left out.
      values.insert(values.end(), stretch.begin,
                    stretch.end == stretch.last ? stretch.end : stretch.end + 1);
    }
    const auto wanted = values.begin() + static_cast<std::ptrdiff_t>(index_);
    std::nth_element(values.begin(), wanted, values.end());
    const auto next = std::min_element(std::next(wanted), values.end());
    return {*wanted, next == values.end() ? *wanted : *next};
  }

 private:
  struct Stretch {
    const double* begin;
    const double* end;
    const double* last;  // of the run: its end
    const double* at;    // where a value divides it

    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };

  [[nodiscard]] std::size_t placeIn(std::size_t size, int turn) const {
    const auto left = static_cast<double>(left_);
    const double chance = 1 / std::sqrt(left);
    const double alike = static_cast<double>(index_) / left;
    const double part = turn % 3 == 0 ? alike + chance : turn % 3 == 1 ? alike - chance : 0.5;
    return std::min(size - 1,
                    static_cast<std::size_t>(std::max(0.0, part) * static_cast<double>(size)));
  }

  /// The least of what is left and after it; none: there is no more.
  [[nodiscard]] std::optional<double> least() const {
    std::optional<double> found;
    for (const Stretch& stretch : all_) {
      if (stretch.begin != stretch.last && (!found || *stretch.begin < *found)) {
        found = *stretch.begin;
      }
    }
    return found;
  }

  std::vector<Stretch> all_;
  std::size_t index_;  // of the wanted one among what is left
  std::size_t left_ = 0;
};

}  // namespace

void SortedValues::push(std::vector<double> values) {
  if (!values.empty()) {
    sum_ = std::accumulate(values.begin(), values.end(), sum_);
    std::sort(values.begin(), values.end());
    size_ += values.size();
    runs_.push_back(std::make_shared<const std::vector<double>>(std::move(values)));
  }
}

void SortedValues::add(std::vector<double> values) {
  push(std::move(values));
  while (runs_.size() > 1 && kShorter * runs_.back()->size() > runs_[runs_.size() - 2]->size()) {
    const Run last = std::move(runs_.back());
    runs_.pop_back();
    std::vector<double> both;
    both.reserve(runs_.back()->size() + last->size());
    std::merge(runs_.back()->begin(), runs_.back()->end(), last->begin(), last->end(),
               std::back_inserter(both));
    runs_.back() = std::make_shared<const std::vector<double>>(std::move(both));
  }
}

void SortedValues::add(const SortedValues& other) {
  runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
  size_ += other.size_;
  sum_ += other.sum_;
}

// In a run of its own, whatever its length: a copy that is asked once is not worth a merge.
SortedValues SortedValues::with(std::vector<double> more) const {
  SortedValues all = *this;
  all.push(std::move(more));
  return all;
}

// In each run a stretch is left in which the value may be: what is before it comes before the
// value, and nothing after it does. Values out of the longest stretch divide all of them. Were all
// runs alike, the value would stand as far into each of them as into all; a little above and a
// little below that place two values soon leave but as many as chance moves it by. The middle of
// the stretch in turn leaves at most half of it, whatever the runs are. Of a handful it is picked.
std::pair<double, double> SortedValues::pairAt(std::size_t index) const {
  Stretches stretches(runs_, index);
  for (int turn = 0; stretches.left() > kPicked; ++turn) {
    if (const auto found = stretches.divide(turn)) {
      return *found;
    }
  }
  return stretches.pick();
}

double SortedValues::at(std::size_t index) const {
  if (index + 1 < size_) {
    return pairAt(index).first;
  }
  const auto last = [](const Run& run) { return run->back(); };
  return last(*std::ranges::max_element(runs_, {}, last));
}

std::optional<double> SortedValues::median() const {
  if (size_ == 0) {
    return std::nullopt;
  }
  if (size_ % 2 == 1) {
    return at(size_ / 2);
  }
  const auto [low, high] = pairAt(size_ / 2 - 1);
  return (high + low) / 2;
}

double SortedValues::quantile(double part) const {
  if (size_ == 0) {
    return 0;
  }
  const double place = std::clamp(part, 0.0, 1.0) * static_cast<double>(size_ - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto [low, high] = pairAt(below);
  return low + (high - low) * (place - static_cast<double>(below));
}

}  // namespace lockstep::analysis

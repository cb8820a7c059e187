#include "engine/analysis/SortedValues.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "engine/base/Check.h"

namespace lockstep::analysis {
namespace {

constexpr std::size_t kShorter = 8;  // so many times, a run than the one before
constexpr std::size_t kPicked = 48;
constexpr std::size_t kNear = 64;  // so many values, a mark and its quantile

/// The first of sorted values of which it is not so, which it is of those before it. Costs what the
/// way from `near` to it does.
template <typename Is>
const double* placeFrom(const double* near, const double* begin, const double* end, const Is& is) {
  std::ptrdiff_t step = 1;
  if (near != end && is(*near)) {
    begin = near + 1;
    while (end - begin > step && is(begin[step])) {
      begin += step + 1;
      step *= 2;
    }
    end = end - begin > step ? begin + step : end;
  } else {
    end = near;
    while (end - begin > step && !is(*(end - step))) {
      end -= step;
      step *= 2;
    }
    begin = end - begin > step ? end - step : begin;
  }
  return std::partition_point(begin, end, is);
}

/// What of some runs a value is looked for in.
class Stretches {
 public:
  explicit Stretches(std::size_t index) : index_(index) {}

  /// `near`: how many of them are less, as one may guess.
  void add(const std::vector<double>& run, std::size_t near) {
    const double* begin = run.data();
    const double* end = begin + run.size();
    all_.push_back({begin, end, end, begin + std::min(near, run.size())});
    left_ += run.size();
  }

  [[nodiscard]] std::size_t left() const { return left_; }

  /// Makes them shorter by one value; returns the wanted one and the next where that is it.
  std::optional<std::pair<double, double>> divide(int turn) {
    const Stretch& longest = *std::ranges::max_element(all_, {}, &Stretch::size);
    const double value = longest.begin[placeIn(longest, turn)];
    std::size_t smaller = 0;
    for (Stretch& stretch : all_) {
      stretch.at = placeFrom(stretch.at, stretch.begin, stretch.end,
                             [value](double other) { return other < value; });
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
      stretch.at = placeFrom(stretch.at, stretch.begin, stretch.end,
                             [value](double other) { return other <= value; });
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
    const double* at;    // where a value divides it, or may

    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };

  [[nodiscard]] std::size_t placeIn(const Stretch& longest, int turn) const {
    const auto size = static_cast<double>(longest.size());
    if (turn == 0) {
      return std::min(longest.size() - 1, static_cast<std::size_t>(longest.at - longest.begin));
    }
    const auto left = static_cast<double>(left_);
    const double alike = static_cast<double>(index_) / left;
    const double chance = 2 * std::sqrt(alike * (1 - alike) / left) + 1 / left;
    const double part = turn % 3 == 1 ? alike + chance : turn % 3 == 2 ? alike - chance : 0.5;
    return std::min(longest.size() - 1, static_cast<std::size_t>(std::max(0.0, part) * size));
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

SortedValues SortedValues::marking(std::initializer_list<double> parts) {
  LOCKSTEP_CHECK(parts.size() <= kMostMarks, "{} quantiles are to be marked", parts.size());
  SortedValues none;
  none.marks_ = parts.size();
  std::ranges::copy(parts, none.parts_.begin());
  return none;
}

void SortedValues::addApart(std::vector<double> values) {
  if (values.empty()) {
    return;
  }
  sum_ = std::accumulate(values.begin(), values.end(), sum_);
  std::sort(values.begin(), values.end());
  size_ += values.size();
  Run run;
  for (std::size_t mark = 0; mark < marks_; ++mark) {
    run.below[mark] = static_cast<std::uint32_t>(std::ranges::lower_bound(values, values_[mark]) -
                                                 values.begin());
  }
  run.values = std::make_shared<const std::vector<double>>(std::move(values));
  runs_.push_back(std::move(run));
}

void SortedValues::add(std::vector<double> values) {
  addApart(std::move(values));
  while (runs_.size() > 1 &&
         kShorter * runs_.back().values->size() > runs_[runs_.size() - 2].values->size()) {
    mergeLast();
  }
  keepMarks();
}

void SortedValues::mergeLast() {
  const Run last = std::move(runs_.back());
  runs_.pop_back();
  Run& before = runs_.back();
  std::vector<double> both;
  both.reserve(before.values->size() + last.values->size());
  std::ranges::merge(*before.values, *last.values, std::back_inserter(both));
  before.values = std::make_shared<const std::vector<double>>(std::move(both));
  for (std::size_t mark = 0; mark < marks_; ++mark) {
    before.below[mark] += last.below[mark];
  }
}

void SortedValues::keepMarks() {
  for (std::size_t mark = 0; size_ > 0 && mark < marks_; ++mark) {
    std::size_t below = 0;
    for (const Run& run : runs_) {
      below += run.below[mark];
    }
    const std::size_t index = indexOf(mark);
    if (!others_ && std::max(below, index) - std::min(below, index) <= kNear) {
      continue;
    }
    const double value = values_[mark] = pairAt(index).first;
    for (Run& run : runs_) {
      const double* begin = run.values->data();
      const double* at = placeFrom(begin + run.below[mark], begin, begin + run.values->size(),
                                   [value](double other) { return other < value; });
      run.below[mark] = static_cast<std::uint32_t>(at - begin);
    }
  }
  others_ = false;
}

void SortedValues::add(const SortedValues& other) {
  // Where they are divided by marks of the same parts, as those of ranks are, searches may begin
  // there.
  const bool alike = parts_ == other.parts_ && marks_ == other.marks_;
  for (Run run : other.runs_) {
    for (std::size_t mark = 0; !alike && mark < marks_; ++mark) {
      run.below[mark] =
          static_cast<std::uint32_t>(parts_[mark] * static_cast<double>(run.values->size()));
    }
    runs_.push_back(std::move(run));
  }
  size_ += other.size_;
  sum_ += other.sum_;
  others_ = true;
}

SortedValues SortedValues::with(std::vector<double> more) const {
  SortedValues all = *this;
  all.addApart(std::move(more));
  return all;
}

std::size_t SortedValues::indexOf(std::size_t mark) const {
  return static_cast<std::size_t>(parts_[mark] * static_cast<double>(size_ - 1));
}

std::optional<std::size_t> SortedValues::markNear(std::size_t index) const {
  std::optional<std::size_t> nearest;
  std::size_t least = size_ / 16 + 1;
  for (std::size_t mark = 0; mark < marks_; ++mark) {
    const std::size_t of = indexOf(mark);
    if (const std::size_t away = std::max(of, index) - std::min(of, index); away < least) {
      nearest = mark;
      least = away;
    }
  }
  return nearest;
}

// In each run a stretch is left in which the value may be: what is before it comes before the
// value, and nothing after it does. Values out of the longest stretch divide all of them. The first
// is the one that a mark stands at, or that stands as far into the longest run as the wanted one
// into all. Were what is left of all runs alike, the value would stand as far into each of them as
// into all; a little above and a little below that place two values soon leave but as many as
// chance moves it by. The middle of the stretch in turn leaves at most half of it, whatever the
// runs are. Of a handful it is picked.
std::pair<double, double> SortedValues::pairAt(std::size_t index) const {
  const std::optional<std::size_t> mark = markNear(index);
  const double part = static_cast<double>(index) / static_cast<double>(size_);
  Stretches stretches(index);
  for (const Run& run : runs_) {
    const auto alike = static_cast<std::size_t>(part * static_cast<double>(run.values->size()));
    stretches.add(*run.values, mark ? run.below[*mark] : alike);
  }
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
  const auto last = [](const Run& run) { return run.values->back(); };
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

#include "engine/analysis/SortedValues.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <ranges>

#include "engine/base/Check.h"

namespace lockstep::analysis {
namespace {

constexpr std::size_t kShorter = 8;  // so many times, a run than the one before
constexpr std::size_t kPicked = 48;
// Of a mark: so many values of each run are near on either side, so far its quantile stays from
// both ends of what is near, and so many times as many these become at most.
constexpr std::size_t kNear = 32;
constexpr std::size_t kMargin = 12;
constexpr std::size_t kMostNear = 8;

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
  static const auto kNone = std::make_shared<const std::vector<double>>();
  auto kept = std::make_shared<Kept>();
  for (const double part : parts) {
    kept->marks.push_back({part, 0, 0, kNone});
  }
  return SortedValues(std::move(kept));
}

std::size_t SortedValues::Mark::indexAmong(std::size_t size) const {
  return static_cast<std::size_t>(part * static_cast<double>(size - 1));
}

// What equals the first or the last of them need not be near: it comes before, or after. Where all
// of them are equal, it may come on either side, and does so that the quantile stays where it is.
void SortedValues::Mark::take(const std::vector<double>& sorted) {
  if (near->empty()) {
    return;
  }
  const auto countOf = [](auto from, auto to) { return static_cast<std::size_t>(to - from); };
  if (near->front() == near->back()) {
    const auto equal = std::ranges::equal_range(sorted, near->front());
    before += countOf(sorted.begin(), equal.begin()) +
              static_cast<std::size_t>(part * static_cast<double>(equal.size()));
    return;
  }
  const auto from = std::ranges::upper_bound(sorted, near->front());
  const auto to = std::lower_bound(from, sorted.end(), near->back());
  before += countOf(sorted.begin(), from);
  if (from != to) {
    std::vector<double> both;
    both.reserve(near->size() + countOf(from, to));
    std::merge(near->begin(), near->end(), from, to, std::back_inserter(both));
    near = std::make_shared<const std::vector<double>>(std::move(both));
  }
}

bool SortedValues::Mark::isFar(std::size_t size, std::size_t mostNear) const {
  const std::size_t index = indexAmong(size);
  const std::size_t end = before + near->size();
  return near->size() > mostNear || (before > 0 && index < before + kMargin) ||
         (end < size && index + kMargin >= end);
}

std::optional<SortedValues::Pair> SortedValues::Mark::pairAt(
    std::size_t index, std::size_t size, const std::vector<double>& more) const {
  if (index < before || index >= before + near->size() + more.size()) {
    return std::nullopt;
  }
  // Of the values before it that are near or are `more`, so many are of `more`.
  const std::size_t place = index - before;
  std::size_t ofMore = *std::ranges::partition_point(
      std::views::iota(place - std::min(place, near->size()), std::min(place, more.size())),
      [&](std::size_t taken) { return more[taken] < (*near)[place - taken - 1]; });
  std::size_t ofNear = place - ofMore;
  const auto next = [&]() -> std::optional<double> {
    const bool some = ofMore < more.size();
    if (ofNear < near->size() && (!some || (*near)[ofNear] <= more[ofMore])) {
      return (*near)[ofNear++];
    }
    return some ? std::optional(more[ofMore++]) : std::nullopt;
  };
  const auto first = next();
  const auto second = next();
  // Beyond the ends of what is near others come between those that are `more`.
  const bool low = before == 0 || (first && *first >= near->front());
  const bool high = before + near->size() == size || (second && *second <= near->back());
  return first && low && high ? std::optional(Pair(*first, second.value_or(*first))) : std::nullopt;
}

void SortedValues::addApart(std::vector<double> values) {
  if (values.empty()) {
    return;
  }
  sum_ = std::accumulate(values.begin(), values.end(), sum_);
  std::sort(values.begin(), values.end());
  greatest_ = size_ == 0 ? values.back() : std::max(greatest_, values.back());
  size_ += values.size();
  Run run;
  for (std::size_t mark = 0; mark < kept_->marks.size(); ++mark) {
    run.below[mark] = static_cast<std::size_t>(
        std::ranges::lower_bound(values, kept_->marks[mark].value) - values.begin());
  }
  run.values = std::make_shared<const std::vector<double>>(std::move(values));
  apart_.push_back(std::move(run));
}

void SortedValues::add(std::vector<double> values) {
  addApart(std::move(values));
  if (apart_.empty()) {
    return;
  }
  auto kept = std::make_shared<Kept>(*kept_);
  for (Run& run : apart_) {
    for (Mark& mark : kept->marks) {
      mark.take(*run.values);
    }
    kept->runs.push_back(std::move(run));
    while (kept->runs.size() > 1 && kShorter * kept->runs.back().values->size() >
                                        kept->runs[kept->runs.size() - 2].values->size()) {
      mergeLast(*kept);
    }
  }
  apart_.clear();
  kept->size = size_;
  keep(std::move(kept));
}

/// Sets those marks anew that are far from their quantiles.
void SortedValues::keep(std::shared_ptr<Kept> kept) {
  kept_ = kept;
  for (std::size_t mark = 0; size_ > 0 && mark < kept->marks.size(); ++mark) {
    if (kept->marks[mark].isFar(size_, kMostNear * kept->reach())) {
      setMark(*kept, mark, searchedAt(kept->marks[mark].indexAmong(size_)).first);
    }
  }
}

std::size_t SortedValues::Kept::reach() const {
  return 2 * kNear * static_cast<std::size_t>(std::sqrt(lists));
}

void SortedValues::mergeLast(Kept& kept) {
  const Run last = std::move(kept.runs.back());
  kept.runs.pop_back();
  Run& before = kept.runs.back();
  std::vector<double> both;
  both.reserve(before.values->size() + last.values->size());
  std::ranges::merge(*before.values, *last.values, std::back_inserter(both));
  before.values = std::make_shared<const std::vector<double>>(std::move(both));
  for (std::size_t mark = 0; mark < kept.marks.size(); ++mark) {
    before.below[mark] += last.below[mark];
  }
}

// All runs are divided so that as many values are before as before the quantile; of those that
// equal it, the first runs have theirs before. What is near reaches on either side as far as the
// neighbours of that place do in the run that has the closest ones: there all runs have theirs.
void SortedValues::setMark(Kept& kept, std::size_t number, double value) {
  struct Neighbours {
    const double *from, *divided, *to;
  };
  Mark& mark = kept.marks[number];
  mark.value = value;
  mark.before = mark.indexAmong(kept.size);
  std::size_t equal = mark.before;  // of those before, how many equal it
  for (Run& run : kept.runs) {
    const double* begin = run.values->data();
    const double* at =
        placeFrom(begin + std::min(run.below[number], run.values->size()), begin,
                  begin + run.values->size(), [value](double other) { return other < value; });
    run.below[number] = static_cast<std::size_t>(at - begin);
    equal -= run.below[number];
  }
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<Neighbours> all;
  for (const Run& run : kept.runs) {
    const double* begin = run.values->data();
    const double* end = begin + run.values->size();
    const double* divided = begin + run.below[number];
    const auto equals = static_cast<std::size_t>(
        placeFrom(divided, divided, end, [value](double other) { return other <= value; }) -
        divided);
    divided += std::min(equal, equals);
    equal -= std::min(equal, equals);
    const Neighbours of{divided - std::min<std::ptrdiff_t>(kNear, divided - begin), divided,
                        divided + std::min<std::ptrdiff_t>(kNear, end - divided)};
    least = of.from == begin ? least : std::max(least, *of.from);
    most = of.to == end ? most : std::min(most, *(of.to - 1));
    all.push_back(of);
  }
  std::vector<double> near;
  for (const Neighbours& of : all) {
    const double* from = std::lower_bound(of.from, of.divided, least);
    near.insert(near.end(), from, std::upper_bound(of.divided, of.to, most));
    mark.before -= static_cast<std::size_t>(of.divided - from);
  }
  std::ranges::sort(near);
  // Of several lists there may be far more than are of use.
  const std::size_t place = mark.indexAmong(kept.size) - mark.before;
  const std::size_t after = std::min(near.size(), place + kept.reach());
  const std::size_t first = place - std::min(place, kept.reach());
  near.erase(near.begin() + static_cast<std::ptrdiff_t>(after), near.end());
  near.erase(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(first));
  mark.before += first;
  mark.near = std::make_shared<const std::vector<double>>(std::move(near));
  kept.searches += 1;
}

void SortedValues::join(const Lists& lists, std::vector<double> added) {
  auto kept = std::make_shared<Kept>();
  kept->marks = kept_->marks;
  kept->searches = kept_->searches;
  kept->lists = lists.size();
  for (const SortedValues* list : lists) {
    kept->runs.insert(kept->runs.end(), list->kept_->runs.begin(), list->kept_->runs.end());
    kept->size += list->kept_->size;
  }
  std::ranges::sort(added);
  for (Mark& mark : kept->marks) {
    mark.take(added);
  }
  size_ = kept->size;
  keep(std::move(kept));
}

SortedValues SortedValues::joined(const Lists& lists) const {
  if (lists.size() == 1) {
    return *lists.front();
  }
  SortedValues all = *this;
  if (kept_->size == 0) {
    all.join(lists, {});
  }
  std::vector<double> apart;
  for (const SortedValues* list : lists) {
    for (const Run& run : list->apart_) {
      apart.insert(apart.end(), run.values->begin(), run.values->end());
    }
  }
  all.addApart(std::move(apart));
  all.sum_ = 0;
  std::optional<double> greatest;
  for (const SortedValues* list : lists) {
    if (list->size_ > 0) {
      all.sum_ += list->sum_;  // as each of them has it
      greatest = std::max(greatest.value_or(list->greatest_), list->greatest_);
    }
  }
  all.greatest_ = greatest.value_or(0);
  return all;
}

SortedValues SortedValues::with(std::vector<double> more) const {
  SortedValues all = *this;
  all.addApart(std::move(more));
  return all;
}

std::optional<std::size_t> SortedValues::markNear(std::size_t index) const {
  std::optional<std::size_t> nearest;
  std::size_t least = size_ / 16 + 1;
  for (std::size_t mark = 0; mark < kept_->marks.size(); ++mark) {
    const std::size_t of = kept_->marks[mark].indexAmong(size_);
    if (const std::size_t away = std::max(of, index) - std::min(of, index); away < least) {
      nearest = mark;
      least = away;
    }
  }
  return nearest;
}

SortedValues::Pair SortedValues::pairAt(std::size_t index) const {
  const std::optional<Pair> marked = markedAt(index);
  return marked ? *marked : searchedAt(index);
}

std::optional<SortedValues::Pair> SortedValues::markedAt(std::size_t index) const {
  static const std::vector<double> kNone;
  std::optional<Pair> found;
  if (apart_.size() < 2) {  // what was put apart again and again is too much to look at
    const std::vector<double>& more = apart_.empty() ? kNone : *apart_.front().values;
    for (std::size_t mark = 0; !found && mark < kept_->marks.size(); ++mark) {
      found = kept_->marks[mark].pairAt(index, kept_->size, more);
    }
  }
  return found;
}

// In each run a stretch is left in which the value may be: what is before it comes before the
// value, and nothing after it does. Values out of the longest stretch divide all of them. The first
// is the one that a mark stands at, or that stands as far into the longest run as the wanted one
// into all. Were what is left of all runs alike, the value would stand as far into each of them as
// into all; a little above and a little below that place two values soon leave but as many as
// chance moves it by. The middle of the stretch in turn leaves at most half of it, whatever the
// runs are. Of a handful it is picked.
SortedValues::Pair SortedValues::searchedAt(std::size_t index) const {
  const std::optional<std::size_t> mark = markNear(index);
  const double part = static_cast<double>(index) / static_cast<double>(size_);
  Stretches stretches(index);
  eachRun([&](const Run& run) {
    const auto alike = static_cast<std::size_t>(part * static_cast<double>(run.values->size()));
    stretches.add(*run.values, mark ? run.below[*mark] : alike);
  });
  for (int turn = 0; stretches.left() > kPicked; ++turn) {
    if (const auto found = stretches.divide(turn)) {
      return *found;
    }
  }
  return stretches.pick();
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

bool SortedValues::isMarked(double part) const {
  return size_ > 0 &&
         markedAt(static_cast<std::size_t>(part * static_cast<double>(size_ - 1))).has_value();
}

}  // namespace lockstep::analysis

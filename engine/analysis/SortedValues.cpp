#include "engine/analysis/SortedValues.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace lockstep::analysis {

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
  while (runs_.size() > 1 && 2 * runs_.back()->size() > runs_[runs_.size() - 2]->size()) {
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

// In each run a stretch is left in which the value may be. A value out of the longest stretch
// divides all of them, until it is the one: in turn from where it would be if all runs were alike,
// which is soon near, and from the middle, which leaves at most half of the longest whatever they
// are.
double SortedValues::at(std::size_t index) const {
  struct Stretch {
    const double* begin;
    const double* end;
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };
  std::vector<Stretch> stretches;
  for (const Run& run : runs_) {
    stretches.push_back({run->data(), run->data() + run->size()});
  }
  std::size_t left = size_;
  for (bool alike = true;; alike = !alike) {
    const Stretch& longest =
        *std::max_element(stretches.begin(), stretches.end(),
                          [](const Stretch& a, const Stretch& b) { return a.size() < b.size(); });
    const double part = alike ? static_cast<double>(index) / static_cast<double>(left) : 0.5;
    const double value = longest.begin[std::min(
        longest.size() - 1, static_cast<std::size_t>(part * static_cast<double>(longest.size())))];
    std::size_t smaller = 0;
    std::size_t notGreater = 0;
    for (const Stretch& stretch : stretches) {
      const double* first = std::lower_bound(stretch.begin, stretch.end, value);
      smaller += static_cast<std::size_t>(first - stretch.begin);
      notGreater +=
          static_cast<std::size_t>(std::upper_bound(first, stretch.end, value) - stretch.begin);
    }
    if (index >= smaller && index < notGreater) {
      return value;
    }
    for (Stretch& stretch : stretches) {
      (index < smaller ? stretch.end : stretch.begin) =
          index < smaller ? std::lower_bound(stretch.begin, stretch.end, value)
                          : std::upper_bound(stretch.begin, stretch.end, value);
    }
    left = index < smaller ? smaller : left - notGreater;
    index -= index < smaller ? 0 : notGreater;
  }
}

std::optional<double> SortedValues::median() const {
  if (size_ == 0) {
    return std::nullopt;
  }
  return size_ % 2 == 1 ? at(size_ / 2) : (at(size_ / 2) + at(size_ / 2 - 1)) / 2;
}

double SortedValues::quantile(double part) const {
  if (size_ == 0) {
    return 0;
  }
  const double place = std::clamp(part, 0.0, 1.0) * static_cast<double>(size_ - 1);
  const auto below = static_cast<std::size_t>(place);
  const double low = at(below);
  const double high = at(std::min(below + 1, size_ - 1));
  return low + (high - low) * (place - static_cast<double>(below));
}

}  // namespace lockstep::analysis

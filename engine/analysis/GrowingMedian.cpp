#include "engine/analysis/GrowingMedian.h"

#include <algorithm>
#include <ranges>

namespace lockstep::analysis {
namespace {

constexpr std::size_t kPart = 512;
constexpr std::size_t kFewParts = 16;  // so many values at once are sorted with all others

}  // namespace

void GrowingMedian::add(std::vector<double> values) {
  if (values.size() * kFewParts < size_) {
    std::for_each(values.begin(), values.end(), [this](double value) { insert(value); });
    return;
  }
  for (const std::vector<double>& part : parts_) {
    values.insert(values.end(), part.begin(), part.end());
  }
  std::sort(values.begin(), values.end());
  size_ = values.size();
  parts_.clear();
  for (auto from = values.begin(); from != values.end();) {
    const auto to = from + std::min<std::ptrdiff_t>(kPart, values.end() - from);
    parts_.emplace_back(from, to);
    from = to;
  }
}

void GrowingMedian::insert(double value) {
  auto part = std::partition_point(
      parts_.begin(), parts_.end(),
      [value](const std::vector<double>& before) { return before.back() < value; });
  if (part == parts_.end()) {
    --part;  // insert() is only called with parts there
  }
  part->insert(std::upper_bound(part->begin(), part->end(), value), value);
  ++size_;
  if (part->size() == 2 * kPart) {
    std::vector<double> upper(part->begin() + kPart, part->end());
    part->resize(kPart);
    parts_.insert(part + 1, std::move(upper));
  }
}

double GrowingMedian::at(std::size_t index) const {
  auto part = parts_.begin();
  while (index >= part->size()) {
    index -= part->size();
    ++part;
  }
  return (*part)[index];
}

std::optional<double> GrowingMedian::with(std::vector<double> more) const {
  const std::size_t all = size_ + more.size();
  if (all == 0) {
    return std::nullopt;
  }
  std::sort(more.begin(), more.end());
  // The value with `index` before it, of which as many are of `more` as are smaller than what then
  // comes of the others.
  const auto value = [&](std::size_t index) {
    const std::size_t least = index - std::min(index, size_);
    const std::size_t ofMore = *std::ranges::partition_point(
        std::views::iota(least, std::min(index, more.size())),
        [&](std::size_t count) { return more[count] < at(index - count - 1); });
    const std::size_t own = index - ofMore;
    return own == size_            ? more[ofMore]
           : ofMore == more.size() ? at(own)
                                   : std::min(more[ofMore], at(own));
  };
  return all % 2 == 1 ? value(all / 2) : (value(all / 2) + value(all / 2 - 1)) / 2;
}

}  // namespace lockstep::analysis

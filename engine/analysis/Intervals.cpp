#include "engine/analysis/Intervals.h"

#include <algorithm>

namespace lockstep::analysis {

Intervals unite(std::vector<Interval> pieces) {
  std::erase_if(pieces, [](const Interval& piece) { return piece.begin >= piece.end; });
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  // Those of one thread come in their order: to see that is cheaper than to sort them.
  if (!std::is_sorted(pieces.begin(), pieces.end(), earlier)) {
    std::sort(pieces.begin(), pieces.end(), earlier);
  }
  Intervals united;
  for (const Interval& piece : pieces) {
    // Those that touch become one, too: Intervals never touch.
    if (!united.empty() && piece.begin <= united.back().end) {
      united.back().end = std::max(united.back().end, piece.end);
    } else {
      united.push_back(piece);
    }
  }
  return united;
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals common;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end) {
      common.push_back(both);
    }
    // The one that ends first can meet nothing more of the other list.
    (a[i].end < b[j].end ? i : j)++;
  }
  return common;
}

Intervals subtract(const Intervals& a, const Intervals& b) {
  Intervals rest;
  std::size_t j = 0;
  for (Interval piece : a) {
    // Pieces of `a` only move on, and what ended before this one began is passed for good; k looks
    // further, since the next piece of `a` may begin inside the same piece of `b`.
    while (j < b.size() && b[j].end <= piece.begin) {
      ++j;
    }
    for (std::size_t k = j; k < b.size() && b[k].begin < piece.end; ++k) {
      if (piece.begin < b[k].begin) {
        rest.push_back({piece.begin, b[k].begin});
      }
      piece.begin = std::max(piece.begin, b[k].end);
    }
    if (piece.begin < piece.end) {
      rest.push_back(piece);
    }
  }
  return rest;
}

Intervals clip(const Intervals& a, const Interval& window) {
  Intervals clipped;
  auto at = std::upper_bound(
      a.begin(), a.end(), window.begin,
      [](std::uint64_t begin, const Interval& interval) { return begin < interval.end; });
  for (; at != a.end() && at->begin < window.end; ++at) {
    clipped.push_back({std::max(at->begin, window.begin), std::min(at->end, window.end)});
  }
  return clipped;
}

std::uint64_t length(const Intervals& a) {
  std::uint64_t sum = 0;
  for (const Interval& interval : a) {
    sum += interval.end - interval.begin;
  }
  return sum;
}

}  // namespace lockstep::analysis

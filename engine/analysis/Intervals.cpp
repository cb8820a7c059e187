#include "engine/analysis/Intervals.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/MergeRuns.h"

namespace lockstep::analysis {

Intervals unite(std::vector<Interval> pieces) {
  std::erase_if(pieces, [](const Interval& piece) { return piece.begin >= piece.end; });
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  base::mergeRuns(pieces, earlier);  // those of one thread come in their order
  // In their own place, and given back as exactly as long as they are: of a live run this is done
  // for each step, and a list that grows leaves holes between what is kept.
  auto end = pieces.begin();
  for (const Interval& piece : pieces) {
    // Those that touch become one, too: Intervals never touch.
    if (end != pieces.begin() && piece.begin <= std::prev(end)->end) {
      std::prev(end)->end = std::max(std::prev(end)->end, piece.end);
    } else {
      *end++ = piece;
    }
  }
  return end == pieces.end() ? std::move(pieces) : Intervals(pieces.begin(), end);
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals common;
  common.reserve(std::min(a.size(), b.size()));
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
  rest.reserve(a.size());
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
  const auto first = std::upper_bound(
      a.begin(), a.end(), window.begin,
      [](std::uint64_t begin, const Interval& interval) { return begin < interval.end; });
  const auto last = std::lower_bound(
      first, a.end(), window.end,
      [](const Interval& interval, std::uint64_t end) { return interval.begin < end; });
  Intervals clipped(first, last);
  if (!clipped.empty()) {
    clipped.front().begin = std::max(clipped.front().begin, window.begin);
    clipped.back().end = std::min(clipped.back().end, window.end);
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

std::uint64_t common(const Intervals& a, const Intervals& b) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint64_t begin = std::max(a[i].begin, b[j].begin);
    const std::uint64_t end = std::min(a[i].end, b[j].end);
    sum += begin < end ? end - begin : 0;
    (a[i].end < b[j].end ? i : j)++;
  }
  return sum;
}

std::uint64_t takeOut(const Interval& piece, Intervals& a) {
  const auto first = std::ranges::upper_bound(a, piece.begin, {}, &Interval::end);
  const auto last = std::ranges::lower_bound(first, a.end(), piece.end, {}, &Interval::begin);
  if (first >= last || piece.begin >= piece.end) {
    return 0;
  }
  std::uint64_t taken = 0;
  for (auto it = first; it != last; ++it) {
    taken += std::min(it->end, piece.end) - std::max(it->begin, piece.begin);
  }
  // What is left of the first and of the last, which may be one.
  const Interval before{first->begin, piece.begin};
  const Interval behind{piece.end, std::prev(last)->end};
  auto kept = first;
  if (before.begin < before.end) {
    *kept++ = before;
  }
  if (behind.begin < behind.end && kept == last) {
    a.insert(last, behind);
    return taken;
  }
  if (behind.begin < behind.end) {
    *kept++ = behind;
  }
  a.erase(kept, last);
  return taken;
}

}  // namespace lockstep::analysis

#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::analysis {

/// A stretch of time in host ticks, `end` not included.
struct Interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const Interval&) const = default;
};

/// Sorted, disjoint, not touching, none empty.
using Intervals = std::vector<Interval>;

/// Returns the time that any of `pieces` covers; they may overlap and be in any order.
Intervals unite(std::vector<Interval> pieces);

/// Returns the time in both.
Intervals intersect(const Intervals& a, const Intervals& b);

/// Returns the time in `a` and not in `b`.
Intervals subtract(const Intervals& a, const Intervals& b);

/// Returns the part of `a` within `window`; costs a binary search and what is returned.
Intervals clip(const Intervals& a, const Interval& window);

/// Returns the covered time in ticks.
std::uint64_t length(const Intervals& a);

/// Returns how much time is in both, in ticks.
std::uint64_t common(const Intervals& a, const Intervals& b);

/// Takes `piece` out of `a`, and returns how much of it was there, in ticks.
std::uint64_t takeOut(const Interval& piece, Intervals& a);

}  // namespace lockstep::analysis

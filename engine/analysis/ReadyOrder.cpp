#include "engine/analysis/ReadyOrder.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

std::unordered_map<std::uint32_t, std::uint16_t> bucketOf(const trace::BucketsMessage* layout) {
  std::unordered_map<std::uint32_t, std::uint16_t> found;
  for (std::size_t b = 0; layout != nullptr && b < layout->buckets.size(); ++b) {
    for (const std::uint32_t parameter : layout->buckets[b].parameters) {
      found[parameter] = static_cast<std::uint16_t>(b);
    }
  }
  return found;
}

std::vector<ReadyGradient> gradientsOf(const RankSpans& rank, std::uint32_t step) {
  // A parameter that is used several times reports several times, and counts when its last part is
  // there.
  std::map<std::uint32_t, ReadyGradient> latest;
  for (const trace::SpanRow& span : rank.spans) {
    const bool unused = span.kind == EventKind::kMarkedUnused;
    if (span.step != step || (span.kind != EventKind::kGradientReady && !unused)) {
      continue;
    }
    ReadyGradient gradient;
    gradient.parameter = static_cast<std::uint32_t>(span.value);
    gradient.ticks = span.startTicks;
    gradient.spanId = span.id;
    gradient.unused = unused;
    const auto [at, isNew] = latest.try_emplace(gradient.parameter, gradient);
    if (!isNew && span.startTicks >= at->second.ticks) {
      at->second = gradient;
    }
  }
  std::vector<ReadyGradient> gradients;
  for (const auto& [parameter, gradient] : latest) {
    gradients.push_back(gradient);
  }
  std::stable_sort(gradients.begin(), gradients.end(),
                   [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  return gradients;
}

/// Marks the gradients whose `expected` number is out of place; leaves out those without one.
template <typename Expected>
std::uint32_t mark(std::vector<ReadyGradient>& gradients, bool ReadyGradient::*flag,
                   Expected expected) {
  std::vector<std::uint32_t> numbers;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (const std::optional<std::uint32_t> number = expected(gradients[i])) {
      numbers.push_back(*number);
      places.push_back(i);
    }
  }
  const std::vector<bool> out = outOfPlace(numbers);
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    gradients[places[i]].*flag = out[i];
    count += out[i] ? 1 : 0;
  }
  return count;
}

}  // namespace

// Note [Longest rising part]
// Which gradients are out of place is asked by how few would have to move. A rank that had 2 0 1 3
// has 0 1 3 in order already, so only 2 is marked; to compare each with its neighbour, or with its
// place, would mark 0 and 1 as well, which are only pushed aside. What stays is a longest
// subsequence that never falls: patience sorting, O(n log n) for n gradients. Equal numbers are no
// fall, since gradients of one bucket may come in any order.
//
//       numbers   2   0   1   3
//       ends[0]   2   0   0   0     best end of a subsequence of one
//       ends[1]           1   1     of two
//       ends[2]               3     of three: 0 1 3, found by `before`

std::vector<bool> outOfPlace(const std::vector<std::uint32_t>& numbers) {
  // ends[n] is the index of the smallest number that ends a subsequence of n + 1 numbers.
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> ends;
  std::vector<std::size_t> before(numbers.size(), kNone);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto at =
        std::upper_bound(ends.begin(), ends.end(), numbers[i],
                         [&](std::uint32_t n, std::size_t end) { return n < numbers[end]; });
    before[i] = at == ends.begin() ? kNone : *(at - 1);
    if (at == ends.end()) {
      ends.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<bool> out(numbers.size(), true);
  for (std::size_t i = ends.empty() ? kNone : ends.back(); i != kNone; i = before[i]) {
    out[i] = false;
  }
  return out;
}

std::vector<ReadyOrder> readyOrders(const std::vector<RankSpans>& ranks, std::uint32_t step,
                                    const trace::BucketsMessage* layout) {
  const auto buckets = bucketOf(layout);
  std::vector<ReadyOrder> orders;
  std::unordered_map<std::uint32_t, std::uint32_t> first;  // place of each on the first rank
  for (const RankSpans& rank : ranks) {
    ReadyOrder& order = orders.emplace_back();
    order.rank = rank.rank;
    order.gradients = gradientsOf(rank, step);
    for (ReadyGradient& gradient : order.gradients) {
      const auto at = buckets.find(gradient.parameter);
      gradient.bucket = at == buckets.end() ? trace::kNoBucket : at->second;
    }
    order.againstBuckets =
        mark(order.gradients, &ReadyGradient::againstBuckets, [](const ReadyGradient& gradient) {
          return gradient.bucket == trace::kNoBucket
                     ? std::nullopt
                     : std::optional<std::uint32_t>(gradient.bucket);
        });
    order.againstRegistration = mark(
        order.gradients, &ReadyGradient::againstRegistration, [](const ReadyGradient& gradient) {
          // The backward reaches the last registered parameter first.
          return std::optional<std::uint32_t>(UINT32_MAX - gradient.parameter);
        });
    // The first rank that has any gradients is the measure; it is not measured by itself.
    if (first.empty()) {
      for (std::size_t i = 0; i < order.gradients.size(); ++i) {
        first[order.gradients[i].parameter] = static_cast<std::uint32_t>(i);
      }
      continue;
    }
    order.againstFirstRank =
        mark(order.gradients, &ReadyGradient::againstFirstRank, [&](const ReadyGradient& gradient) {
          const auto at = first.find(gradient.parameter);
          return at == first.end() ? std::nullopt : std::optional<std::uint32_t>(at->second);
        });
  }
  return orders;
}

}  // namespace lockstep::analysis

#include "ui/views/timeline/LodRow.h"

#include <algorithm>
#include <cstdint>

namespace lockstep::ui {
namespace {

constexpr std::size_t kFoldSamples = 4;

std::size_t strideOf(const LodItem& fold) {
  return std::max<std::size_t>(1, fold.count / kFoldSamples);
}

}  // namespace

Span LodRow::longestOf(const LodItem& fold) const {
  std::size_t longest = fold.first;
  std::uint64_t longestTicks = 0;
  for (std::size_t i = fold.first; i < fold.first + fold.count; i += strideOf(fold)) {
    const std::uint64_t ticks = store_.endAt(i) - store_.startAt(i);
    if (ticks > longestTicks) {
      longestTicks = ticks;
      longest = i;
    }
  }
  return spanAt(longest);
}

double LodRow::filledPart(const LodItem& fold) const {
  double filled = 0;
  double samples = 0;
  for (std::size_t i = fold.first; i < fold.first + fold.count; i += strideOf(fold)) {
    filled += static_cast<double>(store_.endAt(i) - store_.startAt(i));
    ++samples;
  }
  const auto whole =
      static_cast<double>(store_.endAt(fold.first + fold.count - 1) - store_.startAt(fold.first));
  return whole > 0 ? std::min(1.0, filled / samples * static_cast<double>(fold.count) / whole) : 1;
}

}  // namespace lockstep::ui

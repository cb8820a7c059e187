#include "engine/export/Nesting.h"

#include <algorithm>

namespace lockstep::exports {
namespace {

// Slices that hold more than that many others side by side get a row of their own.
constexpr std::size_t kRemembered = 65'536;

}  // namespace

// `outers` are the slices of the row that no other holds: side by side, by time. Let them be [0,
// 2), [3, 4), [6, 8):
//
//       [3, 9)   holds the last two: outers become [0, 2), [3, 9)
//       [5, 9)   holds the last one
//       [7, 9)   begins inside the last: another row
//       [1, 9)   begins inside the first, and would cut it: another row
//       [4, 5)   ended before the last did, and came late: another row
bool NestingRows::fits(Row& row, const Outer& slice) {
  std::vector<Outer>& outers = row.outers;
  if (slice.begin < row.forgottenEnd || (!outers.empty() && slice.end < outers.back().end)) {
    return false;
  }
  const auto held = std::partition_point(
      outers.begin(), outers.end(), [&](const Outer& outer) { return outer.begin < slice.begin; });
  // The last one that begins before it reaches into it.
  if (held != outers.begin() && std::prev(held)->end > slice.begin) {
    return false;
  }
  // It begins with one that is written already: in the file the held one would stand first.
  if (held != outers.end() && held->begin == slice.begin && held->block != slice.block) {
    return false;
  }
  outers.erase(held, outers.end());
  if (outers.size() == kRemembered) {
    const auto half = outers.begin() + kRemembered / 2;
    // From then on nothing that begins before that fits this row.
    row.forgottenEnd = std::prev(half)->end;
    outers.erase(outers.begin(), half);
  }
  outers.push_back(slice);
  return true;
}

std::size_t NestingRows::take(std::int64_t begin, std::int64_t end, std::uint64_t block) {
  const Outer slice{begin, end, block};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (fits(rows_[i], slice)) {
      return i;
    }
  }
  rows_.emplace_back();
  fits(rows_.back(), slice);
  return rows_.size() - 1;
}

}  // namespace lockstep::exports

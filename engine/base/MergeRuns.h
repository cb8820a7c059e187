#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lockstep::base {

/// Sorts, and keeps like elements in their order. Of elements that come in few runs, each of which
/// ascends already, it takes little more than to go through them.
template <typename T, typename Less>
void mergeRuns(std::vector<T>& elements, const Less& less) {
  std::vector<typename std::vector<T>::iterator> ends{elements.begin()};
  while (ends.back() != elements.end()) {
    ends.push_back(std::is_sorted_until(ends.back(), elements.end(), less));
  }
  // Neighbours are merged, and their neighbours, until one is left.
  while (ends.size() > 2) {
    std::size_t kept = 1;
    for (std::size_t i = 1; i < ends.size(); i += 2) {
      if (i + 1 < ends.size()) {
        std::inplace_merge(ends[i - 1], ends[i], ends[i + 1], less);
      }
      ends[kept++] = ends[std::min(i + 1, ends.size() - 1)];
    }
    ends.resize(kept);
  }
}

}  // namespace lockstep::base

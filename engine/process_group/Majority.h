#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::process_group {

/// Which ranks differ from what most of a group's `size` ranks have, of `values` by rank, as far as
/// they are known: all of `values` where no more than half of the group has the same. Sorted.
[[nodiscard]] std::vector<int> outvoted(const std::vector<std::pair<int, std::uint64_t>>& values,
                                        int size);

}  // namespace lockstep::process_group

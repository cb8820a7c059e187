#include "engine/base/RangesText.h"

#include <fmt/format.h>

namespace lockstep::base {

std::string rangesText(const std::vector<int>& numbers, std::size_t most) {
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size();) {
    if (ranges == most) {
      return text + fmt::format(" and {} more", numbers.size() - i);
    }
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    text +=
        (text.empty() ? "" : ", ") +
        (last == i ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
    ++ranges;
  }
  return text.empty() ? "none" : text;
}

}  // namespace lockstep::base

#include "ui/views/timeline/ManyRanks.h"

#include <algorithm>
#include <utility>

namespace lockstep::ui {

void ManyRanks::togglePin(int rank) {
  if (std::erase(pinned_, rank) == 0) {
    pinned_.push_back(rank);
  }
}

bool ManyRanks::isPinned(int rank) const {
  return std::ranges::find(pinned_, rank) != pinned_.end();
}

void ManyRanks::setUnlike(std::vector<std::vector<int>> ranks) {
  besides_ = std::move(ranks);
  unlike_.clear();
  for (const std::vector<int>& beside : besides_) {
    unlike_.push_back(beside.front());
  }
}

std::vector<int> ManyRanks::unlikeAfter(const std::vector<int>& shown, int direction) const {
  if (unlike_.empty()) {
    return {};
  }
  const auto now = shown.empty() ? unlike_.end() : std::ranges::find(unlike_, shown.front());
  const auto count = static_cast<int>(unlike_.size());
  const int at = now == unlike_.end() ? 0 : static_cast<int>(now - unlike_.begin()) + direction;
  return besides_[static_cast<std::size_t>((at + count) % count)];
}

}  // namespace lockstep::ui

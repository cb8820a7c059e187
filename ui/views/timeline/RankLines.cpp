#include "ui/views/timeline/RankLines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/views/timeline/TimelineLayout.h"

namespace lockstep::ui {
namespace {

using timeline_metrics::kRankHeader;

constexpr double kHighestLine = 14;
constexpr double kThinnestLine = 2;

}  // namespace

RankLines::RankLines(std::vector<int> of, const std::vector<int>& unlike, double top, double room)
    : of_(std::move(of)), top_(top) {
  for (const int rank : unlike) {
    if (std::ranges::find(of_, rank) != of_.end()) {
      unlike_.push_back(rank);
    }
  }
  if (of_.empty()) {
    return;
  }
  const auto ranks = static_cast<double>(of_.size());
  lineHeight_ = std::clamp(std::floor(room / ranks), kThinnestLine, kHighestLine);
  const auto count =
      std::min(of_.size(), static_cast<std::size_t>(std::max(1.0, std::floor(room / lineHeight_))));
  for (std::size_t line = 0; line < count; ++line) {
    const std::size_t first = line * of_.size() / count;
    const std::size_t next = (line + 1) * of_.size() / count;
    const auto begin = of_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = of_.begin() + static_cast<std::ptrdiff_t>(next);
    const auto drawn = std::find_if(begin, end, [this](int rank) { return isUnlike(rank); });
    lines_.push_back({drawn == end ? *begin : *drawn, first, next - first});
  }
}

double RankLines::height() const {
  return empty() ? 0 : kRankHeader + lineHeight_ * static_cast<double>(lines_.size());
}

double RankLines::topOf(std::size_t line) const {
  return top_ + kRankHeader + lineHeight_ * static_cast<double>(line);
}

const RankLines::Line* RankLines::at(double y) const {
  if (empty() || y < topOf(0) || y >= topOf(lines_.size())) {
    return nullptr;
  }
  const auto line = static_cast<std::size_t>((y - topOf(0)) / lineHeight_);
  return &lines_[std::min(line, lines_.size() - 1)];
}

std::optional<std::size_t> RankLines::lineOf(int rank) const {
  const auto at = std::ranges::find(of_, rank);
  if (at == of_.end()) {
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(at - of_.begin());
  const auto after = std::ranges::upper_bound(lines_, index, {}, &Line::first);
  return static_cast<std::size_t>(after - lines_.begin()) - 1;
}

bool RankLines::isUnlike(int rank) const {
  return std::ranges::find(unlike_, rank) != unlike_.end();
}

}  // namespace lockstep::ui

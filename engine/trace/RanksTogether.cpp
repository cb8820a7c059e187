#include "engine/trace/RanksTogether.h"

#include <numeric>
#include <utility>

namespace lockstep::trace {
namespace {

constexpr std::uint32_t kUnknown = 0;

}  // namespace

std::uint32_t RanksTogether::groupOf(int rank) {
  const auto next = static_cast<std::uint32_t>(groupOfRank_.size()) + 1;
  return groupOfRank_.try_emplace(rank, next).first->second;
}

void RanksTogether::order(RunUpdate& update) {
  if (update.tracks) {
    for (const TrackInfo& track : *update.tracks) {
      groupOfTrack_[track.id] = groupOf(track.rank);
    }
  }
  std::vector<SpanRow>& rows = update.spans;
  if (groupOfRank_.size() < 2) {
    return;
  }
  std::vector<std::uint32_t> groups;
  groups.reserve(rows.size());
  std::vector<std::size_t> next(groupOfRank_.size() + 1);  // how many; then where its next one goes
  auto known = groupOfTrack_.end();  // of the row before: the next is likely of it too
  for (const SpanRow& row : rows) {
    if (known == groupOfTrack_.end() || known->first != row.track) {
      known = groupOfTrack_.find(row.track);
    }
    groups.push_back(known == groupOfTrack_.end() ? kUnknown : known->second);
    next[groups.back()] += 1;
  }
  std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
  ordered_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ordered_[next[groups[i]]++] = rows[i];
  }
  std::swap(rows, ordered_);
}

}  // namespace lockstep::trace

#include "ui/views/buckets/BucketExamples.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "ui/model/ViewState.h"
#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {
namespace {

// Places in BucketStory::orders, from the top of the view down.
std::vector<std::size_t> chosen(const BucketStory& story, const std::vector<int>& shown) {
  std::vector<std::size_t> places;
  for (const int rank : shown) {
    const auto at = std::ranges::find(story.orders, rank, &analysis::ReadyOrder::rank);
    if (at != story.orders.end()) {
      places.push_back(static_cast<std::size_t>(at - story.orders.begin()));
    }
  }
  return places.size() > kFewRanks ? std::vector<std::size_t>() : places;
}

std::vector<std::size_t> firstMiddleAndLast(const BucketStory& story) {
  std::vector<std::pair<std::uint64_t, std::size_t>> ready;
  for (std::size_t i = 0; i < story.orders.size(); ++i) {
    if (const auto last = story.computedOn(static_cast<int>(i))) {
      ready.emplace_back(*last, i);
    }
  }
  if (ready.empty()) {
    return {0};
  }
  std::ranges::sort(ready);
  std::vector<std::size_t> places;
  for (const std::size_t at : std::set<std::size_t>{0, ready.size() / 2, ready.size() - 1}) {
    places.push_back(ready[at].second);
  }
  return places;
}

template <typename Row>
void keep(std::vector<Row>& rows, const std::vector<std::size_t>& places) {
  std::vector<Row> kept;
  for (const std::size_t place : places) {
    kept.push_back(std::move(rows[place]));
  }
  rows = std::move(kept);
}

}  // namespace

void keepExamples(BucketStory& story, const std::vector<int>& shown) {
  if (story.orders.size() <= kFewRanks) {
    return;
  }
  std::vector<std::size_t> places = chosen(story, shown);
  story.examples = places.empty();
  if (story.examples) {
    places = firstMiddleAndLast(story);
  }
  story.ranksOfRun = static_cast<int>(story.orders.size());
  for (analysis::BucketLife& life : story.lives) {
    keep(life.ranks, places);
  }
  keep(story.readyIndex, places);
  keep(story.orders, places);
  std::erase_if(story.moments, [&](const analysis::ReplayMoment& moment) {
    return std::ranges::find(story.orders, moment.rank, &analysis::ReadyOrder::rank) ==
           story.orders.end();
  });
}

}  // namespace lockstep::ui

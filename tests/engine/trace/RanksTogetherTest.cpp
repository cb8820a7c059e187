#include "engine/trace/RanksTogether.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace lockstep::trace {
namespace {

SpanRow spanOf(std::int64_t id, std::int32_t track) {
  SpanRow row;
  row.id = id;
  row.track = track;
  return row;
}

std::vector<std::int64_t> idsOf(const RunUpdate& update) {
  std::vector<std::int64_t> ids;
  for (const SpanRow& row : update.spans) {
    ids.push_back(row.id);
  }
  return ids;
}

using Ids = std::vector<std::int64_t>;

TEST(RanksTogether, PutsTheSpansOfARankTogetherInTheirOrder) {
  RanksTogether together;
  RunUpdate update;
  update.tracks = {{1, 5, "step"}, {2, 5, "gloo"}, {3, 2, "step"}};
  update.spans = {spanOf(1, 1), spanOf(2, 3), spanOf(3, 2), spanOf(4, 3), spanOf(5, 1)};
  together.order(update);
  EXPECT_EQ(idsOf(update), (Ids{1, 3, 5, 2, 4}));
}

TEST(RanksTogether, KnowsTheTracksOfUpdatesBefore) {
  RanksTogether together;
  RunUpdate first;
  first.tracks = {{1, 0, "step"}, {2, 1, "step"}};
  first.spans = {spanOf(1, 2)};
  together.order(first);
  EXPECT_EQ(idsOf(first), Ids{1});
  RunUpdate second;
  second.spans = {spanOf(2, 2), spanOf(3, 1), spanOf(4, 2)};
  together.order(second);
  EXPECT_EQ(idsOf(second), (Ids{3, 2, 4}));
}

TEST(RanksTogether, KeepsSpansWhoseTrackIsNotKnownInTheirOrder) {
  RanksTogether together;
  RunUpdate update;
  update.tracks = {{1, 0, "step"}, {2, 1, "step"}};
  update.spans = {spanOf(1, 9), spanOf(2, 2), spanOf(3, 8), spanOf(4, 1)};
  together.order(update);
  EXPECT_EQ(idsOf(update), (Ids{1, 3, 4, 2}));
}

}  // namespace
}  // namespace lockstep::trace

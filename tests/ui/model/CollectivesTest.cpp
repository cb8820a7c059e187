#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "tests/ui/model/Feed.h"
#include "ui/model/SpanFacts.h"

namespace lockstep::ui {
namespace {

using test::Feed;
using test::kAllreduce;
using test::sequence;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::EventKind;

constexpr int kCollectives0 = laneId(0, LaneRole::kCommunication);

TEST(Collectives, FollowsOneCollectiveAcrossRanks) {
  RunModel model;
  model.applyUpdate(Feed()
                        .span(2, EventKind::kCollective, 0, 50, 0, sequence(1), kAllreduce)
                        .span(4, EventKind::kCollective, 30, 52, 0, sequence(1), kAllreduce)
                        .span(2, EventKind::kCollective, 60, 90, 0, sequence(2), kAllreduce)
                        .take());
  const auto first = model.sameCollective(*model.findSpan(kCollectives0, 1, 10));
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].rank(), 0);
  EXPECT_EQ(first[1].rank(), 1);
  EXPECT_EQ(first[1].startNs, 30);
  EXPECT_THAT(model.sameCollective(*model.findSpan(kCollectives0, 1, 70)), SizeIs(1));
}

TEST(Collectives, KeepsGroupsWithTheSameSequenceNumbersApart) {
  RunModel model;
  const auto other = trace::packOperation(trace::Operation::kAllreduce, 1);
  model.applyUpdate(Feed()
                        .span(2, EventKind::kCollective, 0, 50, 0, sequence(1), kAllreduce)
                        .span(4, EventKind::kCollective, 0, 50, 0, sequence(1), other)
                        .take());
  EXPECT_THAT(model.sameCollective(*model.findSpan(kCollectives0, 1, 10)), SizeIs(1));
}

TEST(Collectives, AreFoundThoughSpansOfOtherKindsShareTheirLane) {
  RunModel model;
  Feed feed;
  for (std::uint32_t number = 1; number <= 20; ++number) {
    const std::uint64_t start = 100 * number;
    for (const int track : {2, 4}) {
      feed.span(track, EventKind::kCollectiveQueued, start, start, 0, sequence(number), kAllreduce)
          .span(track, EventKind::kChecked, start + 1, start + 5, 0, sequence(number), kAllreduce)
          .span(track, EventKind::kCollective, start + 10, start + 20, 0, sequence(number),
                kAllreduce)
          .span(track, EventKind::kShaped, start + 20, start + 90, 0, sequence(number),
                kAllreduce);
    }
  }
  model.applyUpdate(feed.take());
  for (const double start : {110.0, 1010.0, 2010.0}) {
    EXPECT_THAT(model.sameCollective(*model.findSpan(kCollectives0, 1, start + 5)), SizeIs(2));
  }
  const Lane& lane = *model.lane(kCollectives0);
  for (int row = 0; row < static_cast<int>(lane.rows.size()); ++row) {
    const auto link = model.findSpan(kCollectives0, row, 150);
    if (link && link->kind == EventKind::kShaped) {
      EXPECT_THAT(model.sameCollective(*link), SizeIs(2)) << "of the collective it prolongs";
    }
  }
}

TEST(Collectives, SayThatTheLateRankIsUnknownWhenARankHasNoRecord) {
  RunModel model;
  Feed feed(3);
  for (const int track : {2, 4, 6}) {
    feed.span(track, EventKind::kCollective, 0, 50, 0, sequence(1), kAllreduce);
  }
  feed.span(2, EventKind::kCollective, 100, 190, 0, sequence(2), kAllreduce)
      .span(4, EventKind::kCollective, 140, 190, 0, sequence(2), kAllreduce);
  model.applyUpdate(feed.take());
  const Span whole = *model.findSpan(kCollectives0, 1, 10);
  EXPECT_THAT(arrivalsOf(model, whole).missing, IsEmpty());

  const Span torn = *model.findSpan(kCollectives0, 1, 150);
  const Arrivals arrivals = arrivalsOf(model, torn);
  EXPECT_THAT(arrivals.missing, ElementsAre(2));
  EXPECT_EQ(arrivals.lateRank, -1);
  QString arrived;
  for (const Fact& fact : factsOf(model, torn)) {
    arrived = fact.name == "Arrived" ? fact.value : arrived;
  }
  EXPECT_EQ(arrived, "who came last is unknown: no record of rank 2");
}

TEST(Collectives, TellTheWaitOfACheckFromItsComparison) {
  RunModel model;
  Feed feed;
  // A check has a number of its own, and starts no later than the collective it lets through.
  feed.span(2, EventKind::kChecked, 100, 205, 0, sequence(7), kAllreduce)
      .span(4, EventKind::kChecked, 180, 207, 0, sequence(7), kAllreduce)
      .span(2, EventKind::kCollective, 210, 290, 0, sequence(1), kAllreduce)
      .span(4, EventKind::kCollective, 212, 290, 0, sequence(1), kAllreduce);
  model.applyUpdate(feed.take());
  const Lane& lane = *model.lane(kCollectives0);
  std::optional<Span> check;
  for (int row = 0; row < static_cast<int>(lane.rows.size()) && !check; ++row) {
    check = model.findSpan(kCollectives0, row, 150);
  }
  ASSERT_TRUE(check.has_value());
  ASSERT_EQ(check->kind, EventKind::kChecked);
  const Arrivals arrivals = arrivalsOf(model, *check);
  ASSERT_THAT(arrivals.byRank, SizeIs(2));
  EXPECT_EQ(arrivals.byRank[1].kind, EventKind::kChecked);
  EXPECT_EQ(arrivals.lateRank, 1);
  EXPECT_EQ(arrivals.lastArrivalNs, arrivals.byRank[1].startNs);
  EXPECT_EQ(arrivals.waitNs, 80);
  QString comparison;
  for (const Fact& fact : factsOf(model, *check)) {
    comparison = fact.name == "Comparison" ? fact.value : comparison;
  }
  EXPECT_EQ(comparison, "25 ns once all had arrived");
}

TEST(Collectives, DoNotMissRanksThatAreNotOfTheirGroup) {
  RunModel model;
  const auto other = trace::packOperation(trace::Operation::kAllreduce, 1);
  Feed feed(3);
  for (const int track : {2, 4, 6}) {
    feed.span(track, EventKind::kCollective, 0, 50, 0, sequence(1), kAllreduce);
  }
  feed.span(2, EventKind::kCollective, 100, 190, 0, sequence(1), other)
      .span(4, EventKind::kCollective, 140, 190, 0, sequence(1), other);
  model.applyUpdate(feed.take());
  EXPECT_EQ(arrivalsOf(model, *model.findSpan(kCollectives0, 1, 150)).lateRank, 1);
}

}  // namespace
}  // namespace lockstep::ui

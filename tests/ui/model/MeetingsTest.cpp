#include "engine/trace/Event.h"
#include "ui/model/Meetings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ui/model/Feed.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

using test::kAllreduce;
using test::sequence;
using testing::SizeIs;
using trace::EventKind;

run::SpanRecord collective(std::uint64_t start, std::uint64_t end, std::uint32_t number) {
  run::SpanRecord span;
  span.startTicks = start;
  span.durationTicks = end - start;
  span.value = sequence(number);
  span.detail = kAllreduce;
  span.kind = static_cast<std::uint8_t>(EventKind::kCollective);
  return span;
}

TEST(Meetings, GatherTheRanksOfACollectiveInWhateverOrderTheyAreRead) {
  Meetings meetings;
  for (const std::uint32_t number : {1u, 2u, 3u}) {
    meetings.add(0, 1, collective(100 * number, 100 * number + 60, number));
  }
  for (const std::uint32_t number : {1u, 2u, 3u}) {  // of rank 1 all come later
    meetings.add(1, 1, collective(100 * number + 30, 100 * number + 62, number));
  }
  const auto& all = meetings.table(0).all();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[1].firstStart, 200u);
  EXPECT_EQ(all[1].lastStart, 230u);
  EXPECT_EQ(all[1].lastEnd, 262u);
  EXPECT_EQ(all[1].lateRank, 1);
  EXPECT_EQ(all[1].count, 2);
  ASSERT_THAT(meetings.arrivalsOf(all[1]), SizeIs(2));
  EXPECT_EQ(meetings.arrivalsOf(all[1])[0].rank, 0);
}

TEST(Meetings, TellWhenPartsOfManyRanksHadCome) {
  Meetings meetings;
  for (int rank = 0; rank < 5; ++rank) {
    const std::uint64_t start = rank == 2 ? 900 : 100 + 10 * static_cast<std::uint64_t>(rank);
    meetings.add(rank, 1, collective(start, 950, 1));
  }
  const Meetings::Quartiles came = meetings.quartilesOf(meetings.table(0).all().front());
  EXPECT_DOUBLE_EQ(came.quarter, 10);
  EXPECT_DOUBLE_EQ(came.half, 30);
  EXPECT_DOUBLE_EQ(came.threeQuarters, 40);
}

TEST(Meetings, GoOnWhenSequenceNumbersWrap) {
  Meetings meetings;
  for (const std::uint32_t number : {0xFFFFFEu, 0xFFFFFFu, 0u, 1u}) {
    const std::uint64_t start = 100 + 100 * ((number + 2) & 0xFFFFFF);
    for (const int rank : {0, 1}) {
      meetings.add(rank, 1, collective(start, start + 50, number));
    }
  }
  const auto& all = meetings.table(0).all();
  ASSERT_THAT(all, SizeIs(4));
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(all[i].sequence, all[i - 1].sequence + 1);
    EXPECT_GT(all[i].firstStart, all[i - 1].firstStart);
  }
  EXPECT_EQ(meetings.find({0, false, 0}, 300), &all[2]);
}

TEST(Meetings, OfARankThatCountsAnewAreOthers) {
  Meetings meetings;
  meetings.add(0, 1, collective(100, 150, 1));
  meetings.add(0, 1, collective(900, 950, 1));
  const auto& all = meetings.table(0).all();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(meetings.find({0, false, 1}, 120), &all[0]);
  EXPECT_EQ(meetings.find({0, false, 1}, 910), &all[1]);
}

TEST(Meetings, TakeACallThatIsReadAfterALaterOneOfItsRankForWhatItIs) {
  Meetings meetings;
  for (const std::uint32_t number : {1u, 2u, 3u}) {
    meetings.add(1, 1, collective(100 * number, 100 * number + 60, number));
  }
  for (const std::uint32_t number : {1u, 3u, 2u}) {
    meetings.add(0, 1, collective(100 * number + 5, 100 * number + 60, number));
  }
  const auto& all = meetings.table(0).all();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[1].count, 2);
  meetings.add(0, 1, collective(900, 950, 2));
  EXPECT_THAT(meetings.table(0).all(), SizeIs(4)) << "it came to that already, and counts anew";
}

TEST(Meetings, InFlightTogetherHaveRowsOfTheirOwn) {
  RunModel model;
  test::Feed feed;
  for (std::uint32_t number = 1; number <= 40; ++number) {
    const std::uint64_t start = 100 * number;
    for (const int track : {2, 4}) {
      // Each lasts until the next is half over.
      feed.span(track, EventKind::kCollective, start, start + 150, 0, sequence(number), kAllreduce);
    }
  }
  model.applyUpdate(feed.take());
  const MeetingTable& table = model.meetings().table(0);
  EXPECT_EQ(table.rows(), 2);
  for (std::size_t i = 1; i < table.all().size(); ++i) {
    EXPECT_NE(table.all()[i].row, table.all()[i - 1].row) << i;
  }
}

TEST(Meetings, AreFoundByTimeThoughALongOneBeganBefore) {
  Meetings meetings;
  meetings.add(0, 1, collective(100, 10'000, 1));
  for (std::uint32_t number = 2; number < 30; ++number) {
    meetings.add(0, 2, collective(100 * number, 100 * number + 40, number));
  }
  EXPECT_EQ(meetings.table(0).firstEndingAfter(2000), 0u);
  EXPECT_EQ(meetings.table(0).firstEndingAfter(10'000), 29u);
}

}  // namespace
}  // namespace lockstep::ui

#include "engine/run/SpanStore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace lockstep::run {
namespace {

SpanRecord span(std::uint64_t start, std::uint64_t duration, std::uint32_t id = 0) {
  SpanRecord record;
  record.startTicks = start;
  record.durationTicks = duration;
  record.id = id;
  return record;
}

std::vector<std::uint32_t> idsOf(const SpanStore& store) {
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < store.size(); ++i) {
    ids.push_back(store.at(i).id);
  }
  return ids;
}

TEST(SpanStore, GivesBackEveryColumnAsItWasPut) {
  SpanRecord record;
  record.startTicks = 0xFEDC'BA98'7654'3210;
  record.durationTicks = 0xFFFF'FFFF'FFFF;  // all 48 bits
  record.value = 0x0123'4567'89AB'CDEF;
  record.id = 0xFFFF'FFFE;
  record.step = 123'456'789;
  record.bucket = 77;
  record.detail = 0xABCD;
  record.track = 513;
  record.kind = 71;
  record.startTicks = 1;  // so that start and duration do not wrap
  SpanStore store;
  ASSERT_TRUE(store.insert(record));
  const SpanRecord back = store.at(0);
  EXPECT_EQ(back.startTicks, record.startTicks);
  EXPECT_EQ(back.durationTicks, record.durationTicks);
  EXPECT_EQ(back.value, record.value);
  EXPECT_EQ(back.id, record.id);
  EXPECT_EQ(back.step, record.step);
  EXPECT_EQ(back.bucket, record.bucket);
  EXPECT_EQ(back.detail, record.detail);
  EXPECT_EQ(back.track, record.track);
  EXPECT_EQ(back.kind, record.kind);
}

TEST(SpanStore, PutsALateSpanWhereItsTimeBelongs) {
  SpanStore store;
  ASSERT_TRUE(store.insert(span(100, 10, 1)));
  ASSERT_TRUE(store.insert(span(300, 10, 3)));
  ASSERT_TRUE(store.insert(span(200, 10, 2)));
  ASSERT_TRUE(store.insert(span(0, 10, 0)));
  EXPECT_EQ(idsOf(store), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(SpanStore, RefusesASpanThatOverlapsAnother) {
  SpanStore store;
  ASSERT_TRUE(store.insert(span(100, 50)));
  ASSERT_TRUE(store.insert(span(200, 50)));
  EXPECT_FALSE(store.insert(span(120, 5))) << "inside";
  EXPECT_FALSE(store.insert(span(90, 20))) << "over the start";
  EXPECT_FALSE(store.insert(span(140, 20))) << "over the end";
  EXPECT_FALSE(store.insert(span(90, 300))) << "around both";
  EXPECT_FALSE(store.insert(span(120, 0))) << "an instant inside";
  EXPECT_EQ(store.size(), 2u);
}

TEST(SpanStore, AcceptsSpansThatTouchAndInstantsAtEdges) {
  SpanStore store;
  ASSERT_TRUE(store.insert(span(100, 50, 2)));
  ASSERT_TRUE(store.insert(span(150, 50, 4)));
  ASSERT_TRUE(store.insert(span(150, 0, 3)));
  ASSERT_TRUE(store.insert(span(100, 0, 1)));
  ASSERT_TRUE(store.insert(span(50, 50, 0)));
  EXPECT_EQ(idsOf(store), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(SpanStore, FindsTheFirstSpanThatIsNotOverYet) {
  SpanStore store;
  store.insert(span(100, 50));
  store.insert(span(150, 0));
  store.insert(span(200, 50));
  EXPECT_EQ(store.firstEndingAfter(0), 0u);
  EXPECT_EQ(store.firstEndingAfter(149), 0u);
  EXPECT_EQ(store.firstEndingAfter(150), 1u) << "an instant is there at its own tick";
  EXPECT_EQ(store.firstEndingAfter(151), 2u);
  EXPECT_EQ(store.firstEndingAfter(250), 3u);
  EXPECT_EQ(store.firstStartingAt(100), 0u);
  EXPECT_EQ(store.firstStartingAt(101), 1u);
  EXPECT_EQ(store.firstStartingAt(201), 3u);
}

TEST(SpanStore, StaysSortedOverManyBlocksWhateverTheOrderOfArrival) {
  constexpr std::uint32_t kCount = 5 * SpanBlock::kSpans + 17;
  std::vector<std::uint32_t> order(kCount);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  SpanStore store;
  for (const std::uint32_t i : order) {
    ASSERT_TRUE(store.insert(span(i * 10, 8, i)));
  }
  ASSERT_EQ(store.size(), kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(store.at(i).id, i);
    ASSERT_EQ(store.firstStartingAt(i * 10), i);
    ASSERT_EQ(store.firstEndingAfter(i * 10 + 8), i + 1);
  }
}

TEST(SpanStore, NeedsAtMostTwentySixBytesASpanWhenAppended) {
  constexpr std::uint64_t kCount = 100 * SpanBlock::kSpans;
  SpanStore store;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(store.insert(span(i * 10, 10)));
  }
  EXPECT_LE(store.memoryBytes(), kCount * 26);
}

TEST(SpanStore, GivesRoomBackAndGrowsOnAllTheSame) {
  constexpr std::uint64_t kCount = 1100;  // half of what there is room for
  SpanStore store;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(store.insert(span(20 * i, 10, static_cast<std::uint32_t>(i))));
  }
  const std::size_t before = store.memoryBytes();
  store.fit();
  EXPECT_LT(store.memoryBytes(), before * 6 / 10);
  EXPECT_LE(store.memoryBytes(), kCount * 25);
  for (std::uint64_t i = kCount; i < 2 * kCount; ++i) {
    ASSERT_TRUE(store.insert(span(20 * i, 10, static_cast<std::uint32_t>(i))));
  }
  std::vector<std::uint32_t> expected(2 * kCount);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(idsOf(store), expected);
}

TEST(SpanStore, LeavesWhatIsSharedWhereItIs) {
  SpanStore store;
  for (std::uint64_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(store.insert(span(20 * i, 10)));
  }
  const SharedRow shared = store.share();
  const std::size_t before = shared.last->blocks.at(0)->memoryBytes();
  store.fit();
  EXPECT_EQ(shared.last->blocks.at(0)->memoryBytes(), before);
}

}  // namespace
}  // namespace lockstep::run

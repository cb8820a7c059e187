#include "engine/run/SpanBlock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace lockstep::run {
namespace {

/// A span whose numbers need more bits than is usual where it is `wide`.
SpanRecord numbered(std::uint32_t id, bool wide) {
  SpanRecord made;
  made.startTicks = 100 * id;
  made.durationTicks = wide ? 0x1234'5678'9ABCull : 40;
  made.value = wide ? 0xFEDC'BA98'7654'3210ull : id;
  made.id = id;
  made.step = wide ? 0x0012'3456 : 7;
  made.track = static_cast<std::uint16_t>(id % 3);
  made.kind = 5;
  return made;
}

void expectSame(const SpanRecord& a, const SpanRecord& b) {
  EXPECT_EQ(a.startTicks, b.startTicks);
  EXPECT_EQ(a.durationTicks, b.durationTicks);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.track, b.track);
}

TEST(SpanBlock, GivesBackWideNumbersAmongSmallOnes) {
  SpanBlock block;
  for (std::uint32_t id = 0; id < 50; ++id) {
    block.push_back(numbered(id, id % 7 == 3));
  }
  for (std::uint32_t id = 0; id < 50; ++id) {
    expectSame(block.at(id), numbered(id, id % 7 == 3));
    EXPECT_EQ(block.endAt(id), numbered(id, id % 7 == 3).endTicks());
  }
  EXPECT_EQ(block.latestStep(), 0x0012'3456u);
}

TEST(SpanBlock, KeepsThemWhereASpanIsPutBeforeThem) {
  SpanBlock block;
  block.push_back(numbered(1, true));
  block.push_back(numbered(3, false));
  block.insert(0, numbered(0, false));
  block.insert(2, numbered(2, true));
  for (std::uint32_t id = 0; id < 4; ++id) {
    expectSame(block.at(id), numbered(id, id == 1 || id == 2));
  }
}

TEST(SpanBlock, ForgetsThemWithTheSpansThatAreCut) {
  SpanBlock block;
  block.push_back(numbered(0, false));
  block.push_back(numbered(1, true));
  block.cut(1);
  block.push_back(numbered(2, false));
  expectSame(block.at(1), numbered(2, false));
  const SpanBlock copy(block);
  expectSame(copy.at(0), numbered(0, false));
  expectSame(copy.at(1), numbered(2, false));
}

TEST(SpanBlock, TakesMoreMemoryOnlyForWideNumbers) {
  SpanBlock small;
  SpanBlock wide;
  for (std::uint32_t id = 0; id < SpanBlock::kSpans; ++id) {
    small.push_back(numbered(id, false));
    wide.push_back(numbered(id, id == 9));
  }
  EXPECT_LE(small.memoryBytes(), SpanBlock::kSpans * 25);
  EXPECT_GT(wide.memoryBytes(), small.memoryBytes());
  EXPECT_LT(wide.memoryBytes(), small.memoryBytes() + 200) << "up to the last wide number";
}

TEST(SpanBlock, TakesRoomAsItFills) {
  SpanBlock block;
  for (std::uint32_t id = 0; id < 200; ++id) {
    block.push_back(numbered(id, false));
  }
  EXPECT_LE(block.memoryBytes(), 256 * 25 + sizeof(SpanBlock));
  for (std::uint32_t id = 0; id < 200; ++id) {
    expectSame(block.at(id), numbered(id, false));
  }
}

TEST(SpanBlock, NamesTheTracksOfItsSpans) {
  SpanBlock block;
  for (std::uint32_t id = 0; id < 5; ++id) {
    block.push_back(numbered(id, false));
  }
  std::set<std::uint16_t> tracks;
  block.eachTrack([&](std::uint16_t track) { tracks.insert(track); });
  EXPECT_EQ(tracks, (std::set<std::uint16_t>{0, 1, 2}));
}

}  // namespace
}  // namespace lockstep::run

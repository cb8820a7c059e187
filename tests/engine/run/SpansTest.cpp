#include "engine/run/Spans.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "engine/run/SpanStore.h"
#include "engine/trace/Event.h"

namespace lockstep::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

trace::SpanRow row(std::int64_t id, std::int32_t track, std::uint64_t start) {
  trace::SpanRow made;
  made.id = id;
  made.track = track;
  made.kind = trace::EventKind::kCollective;
  made.startTicks = start;
  made.durationTicks = 5;
  made.step = 7;
  made.bucket = 3;
  made.detail = 0x0102;
  made.value = 0x0123'4567'89AB'CDEF;
  return made;
}

std::vector<std::int64_t> ids(const Spans& spans) {
  std::vector<std::int64_t> found;
  for (const trace::SpanRow& span : spans) {
    found.push_back(span.id);
  }
  return found;
}

TEST(Spans, GiveBackEverySpanOfEveryTrack) {
  Spans spans;
  EXPECT_TRUE(spans.empty());
  EXPECT_THAT(ids(spans), IsEmpty());
  const std::int64_t count = 3 * SpanBlock::kSpans + 1;
  for (std::int64_t id = 0; id < count; ++id) {
    spans.push_back(row(id, id % 2 == 0 ? 40 : 7, 10));
  }
  EXPECT_EQ(spans.size(), static_cast<std::size_t>(count));
  std::vector<bool> seen(static_cast<std::size_t>(count));
  for (const trace::SpanRow& span : spans) {
    EXPECT_FALSE(seen[static_cast<std::size_t>(span.id)]) << "twice";
    seen[static_cast<std::size_t>(span.id)] = true;
    ASSERT_EQ(span.track, span.id % 2 == 0 ? 40 : 7);
  }
}

TEST(Spans, GiveBackThoseOfWantedKindsFromBlocksThatReachAStep) {
  Spans spans;
  for (std::int64_t id = 0; id < 2 * static_cast<std::int64_t>(SpanBlock::kSpans); ++id) {
    trace::SpanRow made = row(id, 40, 10);
    made.step = static_cast<std::uint32_t>(id / 16);
    made.kind = id % 1024 == 5 ? trace::EventKind::kStep : trace::EventKind::kCollective;
    spans.push_back(made);
  }
  const auto found = [&spans](trace::EventKind wanted, std::uint32_t first) {
    std::vector<std::int64_t> taken;
    spans.eachOf([wanted](trace::EventKind kind) { return kind == wanted; }, first,
                 [&](const trace::SpanRow& span) { taken.push_back(span.id); });
    return taken;
  };
  EXPECT_THAT(found(trace::EventKind::kStep, 0), ElementsAre(5, 1029, 2053, 3077));
  EXPECT_THAT(found(trace::EventKind::kStep, 128), ElementsAre(2053, 3077));
  EXPECT_THAT(found(trace::EventKind::kStep, 256), IsEmpty());
  EXPECT_THAT(found(trace::EventKind::kData, 0), IsEmpty());
}

TEST(Spans, GiveBackAllThatARowSays) {
  Spans spans;
  spans.push_back(row(9, 40, 1000));
  const trace::SpanRow back = *spans.begin();
  EXPECT_EQ(back.id, 9);
  EXPECT_EQ(back.track, 40);
  EXPECT_EQ(back.kind, trace::EventKind::kCollective);
  EXPECT_EQ(back.startTicks, 1000u);
  EXPECT_EQ(back.durationTicks, 5u);
  EXPECT_EQ(back.step, 7u);
  EXPECT_EQ(back.bucket, 3);
  EXPECT_EQ(back.detail, 0x0102);
  EXPECT_EQ(back.value, 0x0123'4567'89AB'CDEFu);
}

TEST(Spans, ACopyStaysAsItIsWhileTheOtherGrows) {
  Spans spans;
  spans.push_back(row(1, 0, 10));
  Spans copy = spans;
  spans.push_back(row(2, 0, 20));
  copy.push_back(row(3, 0, 30));
  EXPECT_THAT(ids(spans), UnorderedElementsAre(1, 2));
  EXPECT_THAT(ids(copy), UnorderedElementsAre(1, 3));
}

TEST(Spans, OfARowThatGrowsAreWhatItHeldThen) {
  SpanStore store;
  for (std::int64_t id = 0; id < 3000; ++id) {
    store.insert(recordOf(row(id, 40, 100 * static_cast<std::uint64_t>(id)), 0));
  }
  const Spans then({store.share()}, {40});
  store.insert(recordOf(row(5000, 40, 150), 0));      // late: it moves what stands behind it
  store.insert(recordOf(row(5001, 40, 900'000), 0));  // behind all
  EXPECT_EQ(store.size(), 3002u);
  std::vector<std::int64_t> expected(3000);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<std::int64_t>(i);
  }
  EXPECT_EQ(ids(then), expected);
  EXPECT_EQ((*then.begin()).track, 40);
}

// Over two packs and a part of a third; each look takes what came since the one before.
TEST(Spans, OfARowThatGrowsAreFoundOnceByThoseWhoLookForWhatIsNew) {
  SpanStore store;
  std::vector<std::int64_t> found;
  std::int64_t id = 0;
  for (const std::int64_t until : {1'000, 70'000, 70'001, 150'000, 150'000}) {
    for (; id < until; ++id) {
      // Each tenth comes so late that it moves others, once far away.
      const std::int64_t at = id % 10 != 9 || id < 20 ? id : id == 149'999 ? 500 : id - 15;
      store.insert(
          recordOf(row(id, 40, 100 * static_cast<std::uint64_t>(at) + (at == id ? 0 : 50)), 0));
    }
    const Spans now({store.share()}, {40});
    EXPECT_EQ(now.size(), static_cast<std::size_t>(id));
    EXPECT_EQ(ids(now).size(), now.size());
    now.eachAfter(found.empty() ? -1 : static_cast<std::int64_t>(found.size()) - 1,
                  [&](const trace::SpanRow& span) { found.push_back(span.id); });
    ASSERT_EQ(found.size(), now.size());
  }
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], static_cast<std::int64_t>(i));
  }
}

TEST(Spans, OfSeveralRowsComeOneRowAfterTheOther) {
  SpanStore one;
  SpanStore other;
  std::vector<std::int64_t> expected;
  for (std::int64_t id = 0; id < 66'000; ++id) {  // a whole pack, and more
    one.insert(recordOf(row(id, 40, 100 * static_cast<std::uint64_t>(id)), 0));
    expected.push_back(id);
  }
  other.insert(recordOf(row(70'000, 7, 10), 1));
  Spans spans({one.share(), other.share()}, {40, 7});
  spans.push_back(row(70'001, 9, 20));
  expected.insert(expected.end(), {70'000, 70'001});
  EXPECT_EQ(ids(spans), expected);
  EXPECT_EQ(spans.size(), expected.size());
  std::vector<std::int32_t> tracks;
  spans.eachAfter(65'998, [&](const trace::SpanRow& span) { tracks.push_back(span.track); });
  EXPECT_THAT(tracks, ElementsAre(40, 7, 9));
}

// What a row shares is one list, of which what stood there before is not looked at again.
TEST(Spans, OfALongRowAreSharedInOneListWithWhatWasSharedBefore) {
  SpanStore store;
  std::int64_t id = 0;
  const auto grow = [&](std::int64_t until) {
    for (; id < until; ++id) {
      store.insert(recordOf(row(id, 40, 100 * static_cast<std::uint64_t>(id)), 0));
    }
    return store.share();
  };
  const SharedRow before = grow(200'000);
  const SharedRow after = grow(300'000);
  ASSERT_EQ(before.whole.size(), 3u);
  ASSERT_EQ(after.whole.size(), 4u);
  EXPECT_EQ(&before.whole[2], &after.whole[2]);
  EXPECT_EQ(before.size(), 200'000u);
  EXPECT_EQ(after.size(), 300'000u);
}

}  // namespace
}  // namespace lockstep::run

#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"
#include "ui/model/SpanFinder.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

Span spanOf(EventKind kind, int rank, int bucket = -1, double durationNs = 1000,
            std::uint32_t step = 0) {
  Span span;
  span.id = 1;
  span.kind = kind;
  span.lane = laneId(rank, laneRoleOf(kind));
  span.bucket = bucket < 0 ? trace::kNoBucket : static_cast<std::uint16_t>(bucket);
  span.durationNs = durationNs;
  span.step = step;
  return span;
}

bool matches(const char* query, const Span& span) {
  static const RunModel kEmpty;
  return SpanQuery(QString::fromUtf8(query)).matches(kEmpty, span);
}

TEST(SpanQuery, TakesConditionsThatMustAllHold) {
  const Span wait = spanOf(EventKind::kWait, 1, 3, 2.5e6, 12);
  for (const char* query : {"bucket:3 rank:1 kind:wait >2ms", "wait", "WAIT", "step:10..20",
                            "iteration:12", ">=2500us", "<3ms", ">1000", "rank:0..1 bucket:3"}) {
    EXPECT_TRUE(matches(query, wait)) << query;
  }
  for (const char* query : {"bucket:2", "rank:0", "kind:forward", ">2.5ms", "<2.5ms", "step:13",
                            "wait rank:0", "forward"}) {
    EXPECT_FALSE(matches(query, wait)) << query;
  }
  EXPECT_FALSE(matches("bucket:3", spanOf(EventKind::kForward, 0)));
}

TEST(SpanQuery, TwoConditionsOfOneSortMustBothHold) {
  const Span wait = spanOf(EventKind::kWait, 1, 3, 2.5e6, 12);
  for (const char* query : {"step:10..20 step:12..30", "bucket:3 bucket:0..5", ">1ms >=2500us",
                            "<4ms <3ms", "rank:0..1 rank:1"}) {
    EXPECT_TRUE(matches(query, wait)) << query;
  }
  for (const char* query : {"bucket:2 bucket:3", "bucket:3 bucket:2", "rank:0 rank:1",
                            "step:13..20 step:10..20", ">3ms >1ms", ">=2500us >2500us",
                            "<2ms <3ms", "bucket:3 bucket:none"}) {
    EXPECT_FALSE(matches(query, wait)) << query;
  }
}

TEST(SpanQuery, AWordInQuotesMayHoldBlanks) {
  EXPECT_TRUE(matches("\"copy out\"", spanOf(EventKind::kCopyOut, 0, 1)));
  EXPECT_TRUE(matches("\"kind:copy out\" bucket:1", spanOf(EventKind::kCopyOut, 0, 1)));
  EXPECT_FALSE(matches("\"copy out\"", spanOf(EventKind::kWait, 0, 1)));
}

TEST(SpanQuery, ANameIsTakenWhole) {
  const Span wait = spanOf(EventKind::kWait, 0, 1);
  EXPECT_TRUE(matches("name:wait", wait));
  EXPECT_FALSE(matches("name:wai", wait));
  EXPECT_TRUE(matches("name:\"copy out\"", spanOf(EventKind::kCopyOut, 0, 1)));
  EXPECT_TRUE(matches("name:forward name:wait", wait)) << "one of several";
}

TEST(SpanQuery, AWordInQuotesIsNoDurationAndNoRange) {
  for (const char* query : {"\"<lambda>\"", "\"> half\"", "\"step: load\""}) {
    EXPECT_TRUE(SpanQuery(QString::fromUtf8(query)).error().isEmpty()) << query;
    EXPECT_FALSE(matches(query, spanOf(EventKind::kWait, 0, 1))) << query;
  }
  EXPECT_TRUE(matches("\"step:12\"", spanOf(EventKind::kWait, 1, 3, 2.5e6, 12)));
}

TEST(SpanQuery, AConditionIsReadBackWhateverItsValueHolds) {
  for (const char* name : {"load \"train\"", "a\"b", "C:\\data set\\", "\\n", "tab\there"}) {
    const std::uint64_t number = trace::userPhaseNumber(name);
    trace::learnUserPhases({{trace::kUserPhasePrefix + std::to_string(number), name}});
    Span span = spanOf(EventKind::kUserPhase, 0);
    span.value = number;
    ASSERT_EQ(nameOf(span), QString::fromUtf8(name));
    EXPECT_TRUE(matches(queryFor(span).toUtf8(), span)) << name;
  }
}

TEST(SpanQuery, ABucketMayBeNone) {
  EXPECT_TRUE(matches("bucket:none", spanOf(EventKind::kForward, 0)));
  EXPECT_FALSE(matches("bucket:none", spanOf(EventKind::kWait, 0, 1)));
}

TEST(SpanQuery, IsMadeForTheLikesOfASpan) {
  EXPECT_EQ(queryFor(spanOf(EventKind::kCopyOut, 0, 1)), "name:\"copy out\" bucket:1");
  EXPECT_EQ(queryFor(spanOf(EventKind::kForward, 0)), "name:forward");
}

TEST(SpanQuery, SaysWhatItDoesNotUnderstand) {
  EXPECT_TRUE(SpanQuery("  ").empty());
  EXPECT_FALSE(SpanQuery("  ").valid());
  EXPECT_EQ(SpanQuery(">fast").error(), "\">fast\" is not a duration: write >2ms or <=50us.");
  EXPECT_EQ(SpanQuery("rank:x").error(),
            "\"rank:x\" needs a number or a range: rank:3 or rank:3..7.");
  EXPECT_TRUE(SpanQuery("bucket:1 wait").error().isEmpty());
}

class SpanFinderTest : public testing::Test {
 protected:
  void search(const char* query) {
    finder_.setModel(&model_);
    finder_.setQuery(SpanQuery(QString::fromUtf8(query)));
    wait();
  }

  void wait() {
    QElapsedTimer clock;
    clock.start();
    while (finder_.searching() && clock.elapsed() < 30'000) {
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
    }
    ASSERT_FALSE(finder_.searching());
  }

  RunModel model_;
  SpanFinder finder_;
};

TEST_F(SpanFinderTest, FindsAllAndGoesRoundInOrderOfTime) {
  model_.applyUpdate(test::Feed()
                         .span(1, EventKind::kForward, 0, 100)
                         .span(3, EventKind::kForward, 50, 120)
                         .span(1, EventKind::kBackward, 100, 300)
                         .span(1, EventKind::kForward, 400, 500, 1)
                         .take());
  search("forward");
  EXPECT_EQ(finder_.count(), 3u);
  std::optional<Span> at = finder_.next(std::nullopt, 10, 1);
  ASSERT_TRUE(at.has_value());
  EXPECT_EQ(at->startNs, 50);
  at = finder_.next(at, 0, 1);
  EXPECT_EQ(at->startNs, 400);
  at = finder_.next(at, 0, 1);
  EXPECT_EQ(at->startNs, 0) << "from the last to the first";
  at = finder_.next(at, 0, -1);
  EXPECT_EQ(at->startNs, 400);
  at = finder_.next(at, 0, -1);
  EXPECT_EQ(at->startNs, 50);
}

TEST_F(SpanFinderTest, SearchesWhatComesLaterToo) {
  test::Feed feed;
  feed.update.info = trace::RunInfo{};
  feed.update.info->state = trace::RunState::kRunning;
  model_.applyUpdate(feed.span(1, EventKind::kForward, 0, 100).take());
  search("forward");
  EXPECT_EQ(finder_.count(), 1u);
  model_.applyUpdate(feed.span(1, EventKind::kForward, 400, 500, 1).take());
  QElapsedTimer clock;
  clock.start();
  while (finder_.count() < 2 && clock.elapsed() < 30'000) {
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
  }
  EXPECT_EQ(finder_.count(), 2u);
}

TEST_F(SpanFinderTest, NamesOfParametersThatComeLaterOrOfAnotherRunAreLookedAtAnew) {
  const auto named = [](test::Feed& feed, const char* name) {
    feed.update.parameters.emplace(1);
    feed.update.parameters->front().name = name;
    return feed.take();
  };
  test::Feed feed;
  model_.applyUpdate(feed.span(1, EventKind::kGradientReady, 10, 10).take());
  search("fc1.weight");
  EXPECT_EQ(finder_.count(), 0u);
  model_.applyUpdate(named(feed, "fc1.weight"));
  wait();
  EXPECT_EQ(finder_.count(), 1u);

  RunModel other;
  test::Feed others;
  others.span(1, EventKind::kGradientReady, 10, 10);
  other.applyUpdate(named(others, "fc2.weight"));
  finder_.setModel(&other);
  wait();
  EXPECT_EQ(finder_.count(), 0u);
  finder_.setModel(&model_);
}

// In the demo each iteration of each rank waits once for each bucket.
TEST_F(SpanFinderTest, CountsTheWaitsOfOneBucketOnOneRank) {
  model_.applyUpdate(test::demoRun({.steps = 30}));
  search("bucket:0 rank:1 kind:wait");
  EXPECT_EQ(finder_.count(), 30u);
  search("fc1.weight kind:gradient rank:0");
  EXPECT_EQ(finder_.count(), 30u);
  search("nothing is called so");
  EXPECT_EQ(finder_.count(), 0u);
  EXPECT_FALSE(finder_.next(std::nullopt, 0, 1).has_value());
}

}  // namespace
}  // namespace lockstep::ui

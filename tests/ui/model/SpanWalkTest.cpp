#include "ui/model/SpanWalk.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QThread>
#include <atomic>

#include "tests/ui/model/Feed.h"
#include "ui/model/SpanSlices.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

// Adds up what it is given.
class Sum : public SpanWalk::Job {
 public:
  explicit Sum(std::uint64_t enough = ~0ull) : enough_(enough) {}

  bool take(const SpanChunk& chunk) override {
    onOtherThread = onOtherThread && QThread::currentThread() != qApp->thread();
    EXPECT_EQ(chunk.first, spans);
    spans += chunk.spans.size();
    for (const Span& span : chunk.spans) {
      ns += span.durationNs;
    }
    return spans < enough_;
  }
  void finish() override { finished = true; }

  std::uint64_t spans = 0;
  double ns = 0;
  bool onOtherThread = true;
  std::atomic<bool> finished{false};

 private:
  const std::uint64_t enough_;
};

// Lane of rank 0: forward 0..10, 20..30, ...; copies within every one.
void fill(RunModel& model, int count) {
  test::Feed feed(1);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(20 * i);
    feed.span(1, EventKind::kForward, at, at + 10).span(1, EventKind::kCopyIn, at + 2, at + 3);
  }
  model.applyUpdate(feed.take());
}

SpanWalk::Source sourceOf(const RunModel& model, std::shared_ptr<SpanSlices> slices) {
  return [&model, slices, next = std::uint32_t{0}](SpanChunk& chunk) mutable {
    next = slices->copy(model, next, 1000, chunk.spans);
    return !chunk.spans.empty();
  };
}

bool waitFor(const std::function<bool()>& condition) {
  QElapsedTimer clock;
  clock.start();
  while (!condition() && clock.elapsed() < 30'000) {
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
  }
  return condition();
}

TEST(SpanWalk, GivesEverySpanOnceToAnotherThread) {
  RunModel model;
  fill(model, 5000);
  const auto job = std::make_shared<Sum>();
  SpanWalk walk;
  bool finished = false;
  QObject::connect(&walk, &SpanWalk::finished, [&] { finished = true; });
  walk.start(sourceOf(model, std::make_shared<SpanSlices>(model, std::nullopt)), job);
  EXPECT_TRUE(walk.busy());
  ASSERT_TRUE(waitFor([&] { return finished; }));
  EXPECT_FALSE(walk.busy());
  EXPECT_EQ(job->spans, 10'000u);
  EXPECT_EQ(job->ns, 55'000);
  EXPECT_TRUE(job->onOtherThread);
}

TEST(SpanWalk, EndsWhenTheJobHasEnough) {
  RunModel model;
  fill(model, 5000);
  const auto job = std::make_shared<Sum>(2500);
  SpanWalk walk;
  walk.start(sourceOf(model, std::make_shared<SpanSlices>(model, std::nullopt)), job);
  ASSERT_TRUE(waitFor([&] { return !walk.busy(); }));
  EXPECT_EQ(job->spans, 3000u) << "whole chunks";
  EXPECT_TRUE(job->finished);
}

TEST(SpanWalk, ANewStartLeavesTheOldOne) {
  RunModel model;
  fill(model, 5000);
  const auto first = std::make_shared<Sum>();
  const auto second = std::make_shared<Sum>();
  SpanWalk walk;
  int finished = 0;
  QObject::connect(&walk, &SpanWalk::finished, [&] { ++finished; });
  const auto slices = std::make_shared<SpanSlices>(model, std::nullopt);
  walk.start(sourceOf(model, slices), first);
  walk.start(sourceOf(model, slices), second);
  ASSERT_TRUE(waitFor([&] { return !walk.busy(); }));
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(second->spans, 10'000u);
  EXPECT_FALSE(first->finished);
}

// Forwards at 0..10, 20..30, 40..50, 60..70; copies at 2, 22, 42, 62. From 25 to 42 there are the
// second and third forward and the third copy, which begins at 42.
TEST(SpanSlices, HoldWhatTouchesARange) {
  RunModel model;
  fill(model, 4);
  const SpanSlices slices(model, TimeRange{25, 42});
  ASSERT_EQ(slices.count(), 3u);
  std::vector<double> starts;
  for (std::uint32_t i = 0; i < slices.count(); ++i) {
    starts.push_back(slices.spanAt(model, i)->startNs);
  }
  EXPECT_EQ(starts, (std::vector<double>{20, 40, 42}));
  EXPECT_FALSE(slices.spanAt(model, 3).has_value());
  EXPECT_EQ(slices.numberOf(model, *slices.spanAt(model, 1)), 1u);
  const SpanSlices all(model, std::nullopt);
  EXPECT_EQ(all.count(), 8u);
  EXPECT_FALSE(slices.numberOf(model, *all.spanAt(model, 0)).has_value()) << "out of the range";
}

TEST(SpanSlices, StandWhereTheyStoodWhileTheRunGrows) {
  RunModel model;
  fill(model, 4);
  const SpanSlices slices(model, std::nullopt);
  const double before = slices.spanAt(model, 5)->startNs;
  test::Feed feed(1);
  feed.nextId = 100;
  model.applyUpdate(feed.span(1, EventKind::kForward, 500, 510).take());
  EXPECT_EQ(slices.count(), 8u);
  EXPECT_EQ(slices.spanAt(model, 5)->startNs, before);
}

// From 43 on there are the third forward (40..50), and the fourth with its copy; from before 43 the
// third copy too.
TEST(SpanSlices, TheLatestPartHoldsNoMoreThanAskedFor) {
  RunModel model;
  fill(model, 4);
  const auto part = latestPart(model, std::nullopt, 3);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(SpanSlices(model, part).count(), 3u);
  EXPECT_EQ(part->endNs, model.extent().endNs);
  EXPECT_FALSE(latestPart(model, std::nullopt, 8).has_value());
}

}  // namespace
}  // namespace lockstep::ui

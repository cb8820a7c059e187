#include "engine/trace/Event.h"
#include "ui/model/SpanWalk.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QThread>
#include <QThreadPool>
#include <atomic>

#include "tests/ui/model/Feed.h"
#include "ui/model/BackgroundJob.h"
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

bool waitUntil(const std::function<bool()>& condition) {
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
  ASSERT_TRUE(waitUntil([&] { return finished; }));
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
  ASSERT_TRUE(waitUntil([&] { return !walk.busy(); }));
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
  ASSERT_TRUE(waitUntil([&] { return !walk.busy(); }));
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(second->spans, 10'000u);
  EXPECT_FALSE(first->finished);
}

// Has had enough at once.
class Refusal : public SpanWalk::Job {
 public:
  bool take(const SpanChunk&) override {
    ++takes;
    return false;
  }
  void finish() override { ++finishes; }

  std::atomic<int> takes{0};
  std::atomic<int> finishes{0};
};

// The second chunk is filled when the job has ended already.
TEST(SpanWalk, AChunkThatComesAfterTheEndIsNotGivenToTheJob) {
  const auto job = std::make_shared<Refusal>();
  SpanWalk walk;
  walk.start(
      [job, chunks = 0](SpanChunk& chunk) mutable {
        chunk.spans.resize(10);
        if (++chunks == 2) {
          backgroundPool().waitForDone();
        }
        return true;
      },
      job);
  ASSERT_TRUE(waitUntil([&] { return !walk.busy(); }));
  backgroundPool().waitForDone();
  EXPECT_EQ(job->takes, 1);
  EXPECT_EQ(job->finishes, 1);
}

// Does not return until it is dropped, and then takes its time.
class Slow : public SpanWalk::Job {
 public:
  bool take(const SpanChunk&) override {
    began = true;
    QElapsedTimer clock;
    clock.start();
    while (!dropped() && clock.elapsed() < 30'000) {
      QThread::yieldCurrentThread();
    }
    clock.restart();
    while (clock.elapsed() < 50) {
      QThread::yieldCurrentThread();
    }
    returned = true;
    return true;
  }
  void finish() override {}

  std::atomic<bool> began{false};
  std::atomic<bool> returned{false};
};

// Notes whether another had returned when it began.
class After : public SpanWalk::Job {
 public:
  explicit After(const Slow& other) : other_(other) {}
  bool take(const SpanChunk&) override {
    tooEarly = tooEarly || !other_.returned;
    return true;
  }
  void finish() override {}

  bool tooEarly = false;

 private:
  const Slow& other_;
};

TEST(SpanWalk, ANewJobBeginsWhenTheDroppedOneHasReturned) {
  RunModel model;
  fill(model, 5000);
  const auto slices = std::make_shared<SpanSlices>(model, std::nullopt);
  const auto slow = std::make_shared<Slow>();
  SpanWalk walk;
  walk.start(sourceOf(model, slices), slow);
  ASSERT_TRUE(waitUntil([&] { return slow->began.load(); }));
  walk.start(sourceOf(model, slices), std::make_shared<Sum>());
  const auto after = std::make_shared<After>(*slow);
  walk.start(sourceOf(model, slices), after);
  ASSERT_TRUE(waitUntil([&] { return !walk.busy(); }));
  EXPECT_EQ(walk.handedOver(), 10'000u);
  EXPECT_FALSE(after->tooEarly);
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

// What touches 25..42.5 reaches from 20 to 50: beside it there is the copy at 22, which ends at 23.
TEST(SpanSlices, HoldWhatLiesBesideARangeWithinTheSpansThatTouchIt) {
  RunModel model;
  fill(model, 4);
  const SpanSlices beside = SpanSlices::around(model, {25, 42.5});
  ASSERT_EQ(beside.count(), 1u);
  EXPECT_EQ(beside.spanAt(model, 0)->startNs, 22);
  EXPECT_EQ(SpanSlices::around(model, {12, 15}).count(), 0u);
  EXPECT_EQ(SpanSlices::around(model, model.extent()).count(), 0u);
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
  EXPECT_TRUE(slices.stand(model));
}

TEST(SpanSlices, KnowWhenASpanThatCameLateHasMovedThem) {
  RunModel model;
  fill(model, 4);
  const SpanSlices slices(model, std::nullopt);
  test::Feed feed(1);
  feed.nextId = 100;
  model.applyUpdate(feed.span(1, EventKind::kForward, 12, 16).take());
  EXPECT_FALSE(slices.stand(model));
  EXPECT_TRUE(SpanSlices(model, std::nullopt).stand(model));
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

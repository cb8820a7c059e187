#include "engine/trace/Event.h"
#include "ui/views/timeline/FirstLook.h"

#include <gtest/gtest.h>

#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"

namespace lockstep::ui {
namespace {

using test::Feed;
using trace::EventKind;

TEST(FirstLook, ShowsThreeTypicalIterationsAfterTheRebuild) {
  RunModel model;
  model.applyUpdate(test::demoRun());
  const TimeRange range = typicalRange(model);
  const auto middle = model.stepAt(0, (range.startNs + range.endNs) / 2);
  ASSERT_TRUE(middle.has_value());
  const auto before = model.step(0, middle->step - 1);
  const auto after = model.step(0, middle->step + 1);
  EXPECT_GT(before->step, *model.rebuildStep());
  EXPECT_LT(range.startNs, before->startNs);
  EXPECT_GT(range.endNs, after->endNs);
  EXPECT_LT(range.lengthNs(), (after->endNs - before->startNs) * 1.1);
}

TEST(FirstLook, FallsBackToTheWholeRunWhenItIsShort) {
  RunModel model;
  test::DemoOptions options;
  options.steps = 2;
  model.applyUpdate(test::demoRun(options));
  const TimeRange range = typicalRange(model);
  EXPECT_LE(range.startNs, model.extent().startNs);
  EXPECT_GE(range.endNs, model.extent().endNs);
}

// Six steps of 100 ns on two ranks, and a rebuild for step 1.
RunModel& sixSteps(RunModel& model) {
  Feed feed;
  for (std::uint32_t step = 0; step < 6; ++step) {
    for (const int track : {1, 3}) {
      feed.span(track, EventKind::kStep, 100 * step, 100 * step + 100, step);
    }
  }
  feed.update.layouts.emplace();
  feed.update.layouts->push_back({0, 0, "construction", {}});
  feed.update.layouts->push_back({1, 1, "rebuild", {}});
  model.applyUpdate(feed.take());
  return model;
}

void addFault(RunModel& model, int track, std::uint64_t start, std::uint64_t end,
              std::uint32_t step) {
  Feed feed;
  feed.nextId = 1000 + static_cast<std::int64_t>(start);
  model.applyUpdate(feed.span(track, EventKind::kFault, start, end, step).take());
}

TEST(FirstLook, ShowsTheIterationOfAFaultAndItsNeighbours) {
  RunModel model;
  addFault(sixSteps(model), 3, 310, 350, 3);
  const TimeRange range = firstLook(model);
  EXPECT_NEAR(range.startNs, 200, 10);
  EXPECT_NEAR(range.endNs, 500, 10);
}

TEST(FirstLook, TakesTheFirstFaultAfterTheWarmUpOfAllRanks) {
  RunModel model;
  addFault(sixSteps(model), 3, 410, 430, 4);
  addFault(model, 3, 10, 30, 0);
  addFault(model, 1, 210, 230, 2);
  const TimeRange range = firstLook(model);
  EXPECT_NEAR(range.startNs, 100, 10);
  EXPECT_NEAR(range.endNs, 400, 10);
}

TEST(FirstLook, FindsAFaultBehindAWaitForACoreInTheSameRow) {
  RunModel model;
  Feed feed;
  feed.nextId = 500;
  sixSteps(model).applyUpdate(feed.span(3, EventKind::kOffCore, 110, 120, 1).take());
  addFault(model, 3, 310, 350, 3);
  const TimeRange range = firstLook(model);
  EXPECT_NEAR(range.startNs, 200, 10);
  EXPECT_NEAR(range.endNs, 500, 10);
}

TEST(FirstLook, ShowsWhereARankWasKilledThoughThatIterationHasNoEnd) {
  RunModel model;
  addFault(sixSteps(model), 1, 601, 601, 6);
  const TimeRange range = firstLook(model);
  EXPECT_NEAR(range.startNs, 500, 10);
  EXPECT_NEAR(range.endNs, 801, 10);
}

}  // namespace
}  // namespace lockstep::ui

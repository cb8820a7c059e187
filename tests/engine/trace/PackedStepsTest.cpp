#include "engine/trace/PackedSteps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/engine/trace/RunFileSupport.h"
#include "tests/engine/trace/TemporaryFolder.h"

namespace lockstep::trace {
namespace {

/// Steps of about 10 ms of a clock of 2.5 GHz that has run for a day.
std::vector<SummedStep> someSteps(std::size_t count, int rank = 0) {
  std::vector<SummedStep> steps;
  std::uint64_t start = 216'000'000'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t more = 7'919 * i * i % 1'000'003;
    SummedStep& step = steps.emplace_back();
    step.startTicks = start;
    step.durationTicks = 25'000'000 + more;
    StepSumsRow& sums = step.sums;
    sums.rank = rank;
    sums.step = static_cast<std::uint32_t>(20 + i);
    sums.forward = 7'000'000 + more / 3;
    sums.backward = 15'000'000 + more / 3;
    sums.optimizer = 1'500'000;
    sums.inFlight = 9'000'000 + more / 5;
    sums.computing = 20'000'000 + more / 7;
    sums.overlap = 6'000'000 + more / 9;
    sums.overlapLeast = sums.overlap - (i % 4 == 3 ? 500'000 : 0);
    sums.overlapMost = sums.overlap + (i % 4 == 3 ? 700'000 : 0);
    sums.offCore = i % 4 == 3 ? 900'000 : 0;
    sums.coreWait = sums.offCore / 2;
    start += step.durationTicks + 130'000;
  }
  return steps;
}

Event stepSpan(const SummedStep& step) {
  Event event;
  event.kind = static_cast<std::uint16_t>(EventKind::kStep);
  event.startTicks = step.startTicks;
  event.durationTicks = step.durationTicks;
  event.step = step.sums.step;
  event.bucket = kNoBucket;
  return event;
}

TEST(PackedSteps, ComeOutAsTheyWentInButForLessThanTwoUnits) {
  const std::vector<SummedStep> steps = someSteps(32, 3);
  const std::uint64_t unit = unitOf(steps);
  EXPECT_EQ(unit, 2'048U) << "a part in 8,192 of 10 ms, or less";
  const std::string bytes = packSteps(steps, unit);
  EXPECT_LT(bytes.size(), 22 * steps.size());
  const auto back = unpackSteps(bytes, 3, 20, unit);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), steps.size());
  const auto near = [&](std::uint64_t was, std::uint64_t is) {
    EXPECT_LE(was > is ? was - is : is - was, 2 * unit);
  };
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const SummedStep& was = steps[i];
    const SummedStep& is = (*back)[i];
    EXPECT_EQ(is.sums.rank, 3);
    EXPECT_EQ(is.sums.step, was.sums.step);
    EXPECT_EQ(is.sums.kept, KeptDetail::kSums);
    near(was.startTicks, is.startTicks);
    near(was.durationTicks, is.durationTicks);
    near(was.sums.forward, is.sums.forward);
    near(was.sums.backward, is.sums.backward);
    near(was.sums.optimizer, is.sums.optimizer);
    near(was.sums.inFlight, is.sums.inFlight);
    near(was.sums.computing, is.sums.computing);
    near(was.sums.overlap, is.sums.overlap);
    near(was.sums.overlapLeast, is.sums.overlapLeast);
    near(was.sums.overlapMost, is.sums.overlapMost);
    near(was.sums.offCore, is.sums.offCore);
    near(was.sums.coreWait, is.sums.coreWait);
    EXPECT_GE(is.startTicks, end) << "a step begins where the one before has ended";
    end = is.startTicks + is.durationTicks;
    EXPECT_LE(is.sums.computing + is.sums.inFlight - is.sums.overlap, is.durationTicks);
    EXPECT_LE(is.sums.overlap, std::min(is.sums.computing, is.sums.inFlight));
  }
}

TEST(PackedSteps, KeepTheTickWhereStepsAreShort) {
  std::vector<SummedStep> steps = someSteps(2);
  for (SummedStep& step : steps) {
    step.durationTicks = 5'000;
    step.sums = {{1'000, 2'000, 500, 700, 3'000, 600, 0, 600, 600},
                 0,
                 0,
                 step.sums.step,
                 KeptDetail::kSums,
                 0};
  }
  EXPECT_EQ(unitOf(steps), 1U);
  const auto back = unpackSteps(packSteps(steps, 1), 0, 20, 1);
  ASSERT_TRUE(back);
  EXPECT_EQ((*back)[1].sums, steps[1].sums);
  EXPECT_EQ((*back)[1].startTicks, steps[1].startTicks);
}

TEST(PackedSteps, DamagedBytesAreNoSteps) {
  const std::string bytes = packSteps(someSteps(3), 1);
  EXPECT_FALSE(unpackSteps(std::string_view(bytes).substr(0, bytes.size() - 1), 0, 0, 1));
  EXPECT_FALSE(unpackSteps(std::string(12, '\xFF'), 0, 0, 1));
  EXPECT_TRUE(unpackSteps("", 0, 0, 1)->empty());
}

TEST(PackedSteps, AreReadAsSpansAndSumsInTheirPlace) {
  const TemporaryFolder folder;
  const auto path = folder / "a.lockstep";
  const auto file = createRun(path);
  RunInfo info = runningInfo();
  file->setInfo(info);
  file->addClock({0, 0, 1});
  file->addTrack({0, 0, "step"});
  const std::vector<SummedStep> steps = someSteps(50);
  const auto reader = openRun(path);
  const auto add = [&](std::size_t from, std::size_t end) {
    for (std::size_t i = from; i < end; ++i) {
      file->addSummedStep(0, stepSpan(steps[i]), steps[i].sums);
    }
    ASSERT_TRUE(file->commit().ok());
  };
  add(0, 40);
  EXPECT_EQ(readAll(*reader).spans.size(), 32U) << "a full row; the others wait for theirs";
  file->writeSummedSteps();
  file->addEvent(0, stepSpan(steps[40]));
  ASSERT_TRUE(file->commit().ok());
  const RunUpdate second = readAll(*reader);
  ASSERT_EQ(second.spans.size(), 9U);
  EXPECT_EQ(second.sums.size(), 8U);
  for (std::size_t i = 0; i < second.spans.size(); ++i) {
    EXPECT_EQ(second.spans[i].id, 33 + static_cast<std::int64_t>(i));
    EXPECT_EQ(second.spans[i].step, 52U + i) << "those that waited come first";
  }
  add(41, 50);
  info.state = RunState::kFinished;
  file->setInfo(info);
  ASSERT_TRUE(file->finish().ok());
  EXPECT_EQ(readAll(*reader).spans.size(), 9U) << "what waits is written at the end";
  const RunUpdate few = readAll(*openRun(path), 7);
  ASSERT_EQ(few.spans.size(), 50U) << "whatever a look may take at once";
  EXPECT_EQ(few.sums.size(), 49U);
  for (std::size_t i = 1; i < few.spans.size(); ++i) {
    EXPECT_GT(few.spans[i].id, few.spans[i - 1].id);
  }
  EXPECT_EQ(readRunSummary(path).value().lastStep, 69U);
  query(path, "UPDATE packed_steps SET steps = x'FF'");
  const auto damaged = openRun(path)->poll();
  ASSERT_FALSE(damaged.ok());
}

}  // namespace
}  // namespace lockstep::trace

#include "engine/trace/Event.h"
#include "ui/panels/events/EventColumns.h"

#include <gtest/gtest.h>

#include "tests/ui/model/Feed.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

Span spanOf(EventKind kind, std::uint64_t value = 0, std::uint16_t detail = 0) {
  Span span;
  span.id = 1;
  span.lane = laneId(1, laneRoleOf(kind));
  span.track = 4;
  span.kind = kind;
  span.step = 12;
  span.value = value;
  span.detail = detail;
  span.startNs = 5'250'000;
  span.durationNs = 1500;
  return span;
}

EventTerms terms() {
  EventTerms terms;
  terms.parameters.resize(2);
  terms.parameters[1].name = "fc1.weight";
  terms.parameters[1].bytes = 4000;
  terms.threads.insert(4, "gloo 0");
  terms.longestNs = 8'000'000;
  return terms;
}

std::string shown(EventColumn column, const Span& span, double stepStartNs = 5'000'000) {
  return textOf(column, terms(), span, stepStartNs).toStdString();
}

TEST(EventColumns, ACollectiveHasItsSequenceGroupAndBytes) {
  Span span = spanOf(EventKind::kCollective, trace::packCollective(77, 25'000'000),
                     trace::packOperation(trace::Operation::kAllreduce, 2));
  span.bucket = 3;
  EXPECT_EQ(shown(EventColumn::kName, span), "allreduce, bucket 3");
  EXPECT_EQ(shown(EventColumn::kStart, span), "5.250 ms");
  EXPECT_EQ(shown(EventColumn::kInStep, span), "250 µs");
  EXPECT_EQ(shown(EventColumn::kDuration, span), "1.50 µs");
  EXPECT_EQ(shown(EventColumn::kStep, span), "12");
  EXPECT_EQ(shown(EventColumn::kRank, span), "1");
  EXPECT_EQ(shown(EventColumn::kBucket, span), "3");
  EXPECT_EQ(shown(EventColumn::kBytes, span), "23.8 MiB");
  EXPECT_EQ(shown(EventColumn::kSequence, span), "77");
  EXPECT_EQ(shown(EventColumn::kGroup, span), "2");
  EXPECT_EQ(shown(EventColumn::kLane, span), "Communication");
  EXPECT_EQ(shown(EventColumn::kThread, span), "gloo 0");
  EXPECT_EQ(shown(EventColumn::kValue, span), "") << "said by sequence and bytes";
}

TEST(EventColumns, WhatIsNotKnownIsEmpty) {
  Span span = spanOf(EventKind::kGradientReady, 1);
  span.durationNs = 0;
  EXPECT_EQ(shown(EventColumn::kName, span), "gradient ready: fc1.weight");
  EXPECT_EQ(shown(EventColumn::kDuration, span), "");
  EXPECT_EQ(shown(EventColumn::kBucket, span), "");
  EXPECT_EQ(shown(EventColumn::kSequence, span), "");
  EXPECT_EQ(shown(EventColumn::kInStep, span, std::nan("")), "");
  EXPECT_EQ(shown(EventColumn::kBytes, span), "3.91 KiB") << "of the parameter";
  EXPECT_EQ(shown(EventColumn::kValue, span), "1") << "the parameter's index";
}

// The longest time, 8 ms, gives all starts their unit.
TEST(EventColumns, WhatBeganBeforeTheRecorderHasAMinus) {
  Span spawn = spanOf(EventKind::kStartup, 0, static_cast<int>(trace::StartupStage::kSpawn));
  spawn.startNs = -35'250'000;
  EXPECT_EQ(numberOf(EventColumn::kStart, terms(), spawn), -35'250'000);
  EXPECT_EQ(shown(EventColumn::kStart, spawn), "-35.250 ms");
  EXPECT_EQ(shown(EventColumn::kStep, spawn), "");
  EXPECT_EQ(shown(EventColumn::kInStep, spawn), "");
  spawn.startNs = -400;
  EXPECT_EQ(shown(EventColumn::kStart, spawn), "0.000 ms") << "no minus before nothing";
}

// A collective of the start-up carries step 0, which begins later: at 6 ms.
TEST(EventColumns, WhatEndedBeforeItsIterationBeganIsOfNone) {
  const Span early = spanOf(EventKind::kCollective);
  EXPECT_EQ(shown(EventColumn::kStep, early, 6'000'000), "");
  EXPECT_EQ(shown(EventColumn::kInStep, early, 6'000'000), "");
  // One that goes on as the iteration begins belongs to it, and began before it.
  EXPECT_EQ(shown(EventColumn::kStep, early, 5'251'000), "12");
  EXPECT_EQ(shown(EventColumn::kInStep, early, 5'251'000), "-1 µs");
}

}  // namespace
}  // namespace lockstep::ui

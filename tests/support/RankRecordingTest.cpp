#include "engine/trace/Event.h"
#include "tests/support/RankRecording.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep::support {
namespace {

using trace::EventKind;

TEST(RankRecording, GivesWhatHasComeSinceTheLastLook) {
  RankRecording recording;
  trace::Lane& step = recording.tracer().lane("step");
  trace::Lane& hook = recording.tracer().lane("hook");
  step.instant(EventKind::kGradientReady, 3, 1, 7);
  hook.instant(EventKind::kBucketReady, 3);
  auto lanes = recording.lanes();
  ASSERT_EQ(lanes.at("step").size(), 1u);
  EXPECT_EQ(lanes.at("step")[0].value, 7u);
  EXPECT_EQ(lanes.at("hook").size(), 1u);
  EXPECT_TRUE(recording.lanes().at("step").empty());
  step.instant(EventKind::kGradientReady, 4);
  hook.instant(EventKind::kBucketReady, 4);
  EXPECT_EQ(recording.eventsOf(EventKind::kBucketReady).size(), 1u);
}

TEST(RankRecording, GivesTheMessages) {
  RankRecording recording;
  EXPECT_TRUE(recording.tracer().send(trace::toJson(trace::ProblemMessage{"warning", 0, "slow"})));
  const auto messages = recording.messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(std::get<trace::ProblemMessage>(messages[0]).text, "slow");
  EXPECT_TRUE(recording.messages().empty());
}

TEST(RankRecording, FailsWhenEventsWereLost) {
  RankRecording recording({1, 16, 4096});
  trace::Lane& lane = recording.tracer().lane("step");
  for (std::uint32_t step = 0; step < 17; ++step) {
    lane.instant(EventKind::kGradientReady, step);
  }
  EXPECT_THROW(static_cast<void>(recording.lanes()), std::runtime_error);
}

}  // namespace
}  // namespace lockstep::support

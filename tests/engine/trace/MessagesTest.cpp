#include "engine/trace/Messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep::trace {
namespace {

template <typename T>
T roundTrip(const T& message) {
  auto decoded = messageFromJson(toJson(message));
  EXPECT_TRUE(decoded.ok()) << (decoded.ok() ? "" : decoded.error().message());
  return std::get<T>(decoded.value());
}

std::string refusal(std::string_view json) {
  return messageFromJson(json).error().message();
}

TEST(MessagesTest, KeepsParameters) {
  ParametersMessage message{
      {{"fc.weight", {10, 20}, "float32", 200, 800}, {"scale", {}, "bfloat16", 1, 2}}};
  EXPECT_EQ(roundTrip(message).parameters, message.parameters);
}

TEST(MessagesTest, KeepsBuckets) {
  BucketsMessage message{1, 1, "rebuild", {{{2, 0}, {0, 400}, 800, 1 << 20, "float32"}}};
  const BucketsMessage decoded = roundTrip(message);
  EXPECT_EQ(decoded.layout, 1);
  EXPECT_EQ(decoded.step, 1);
  EXPECT_EQ(decoded.reason, "rebuild");
  EXPECT_EQ(decoded.buckets, message.buckets);
}

TEST(MessagesTest, KeepsEnvironmentSummaryAndProblem) {
  EXPECT_EQ(roundTrip(EnvironmentMessage{{{"libtorch", "1.13.1"}}}).values.at("libtorch"),
            "1.13.1");
  const SummaryMessage summary = roundTrip(SummaryMessage{200, 0.25, "00ff00ff00ff00ff"});
  EXPECT_EQ(summary.steps, 200);
  EXPECT_EQ(summary.loss, 0.25);
  EXPECT_EQ(summary.parameterHash, "00ff00ff00ff00ff");
  const ProblemMessage problem = roundTrip(ProblemMessage{"error", 3, "a \"quoted\"\nline"});
  EXPECT_EQ(problem.text, "a \"quoted\"\nline");
  EXPECT_EQ(problem.step, 3);
}

TEST(MessagesTest, KeepsDdpLogging) {
  const DdpLoggingMessage message{7, {{"comm_hook", "allreduce"}}, {{"backward_comm_time", 2.5e9}}};
  const DdpLoggingMessage decoded = roundTrip(message);
  EXPECT_EQ(decoded.step, 7);
  EXPECT_EQ(decoded.facts, message.facts);
  EXPECT_EQ(decoded.numbers, message.numbers);
}

TEST(MessagesTest, KeepsNumbersThatJsonHasNoWordsFor) {
  const double infinity = std::numeric_limits<double>::infinity();
  const EvaluationMessage decoded =
      roundTrip(EvaluationMessage{5, -infinity, std::nan(""), 10'000});
  EXPECT_EQ(decoded.loss, -infinity);
  EXPECT_TRUE(std::isnan(decoded.accuracy));
  EXPECT_EQ(decoded.samples, 10'000);
  EXPECT_EQ(roundTrip(SummaryMessage{1, infinity, ""}).loss, infinity);
}

TEST(MessagesTest, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(roundTrip(ProblemMessage{"error", 0,
                                     "a\xff"
                                     "b"})
                .text,
            "a\xEF\xBF\xBD"
            "b");
}

TEST(MessagesTest, SaysWhyATextIsNoMessage) {
  EXPECT_NE(refusal("{\"type\": ").find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal("{\"type\": \"tea\"}").find("unknown type \"tea\""), std::string::npos);
  EXPECT_NE(refusal("{\"type\": \"summary\", \"steps\": 1}").find("loss"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::trace

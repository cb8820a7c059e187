#include "engine/export/RankChoice.h"
#include "engine/export/Selection.h"
#include "engine/trace/Event.h"

#include <gtest/gtest.h>

namespace lockstep::exports {
namespace {

TEST(StepRange, IsReadAsPeopleWriteIt) {
  const auto read = [](const char* text) { return parseStepRange(text).value(); };
  EXPECT_EQ(read("7"), (StepRange{7, 7}));
  EXPECT_EQ(read("3..9"), (StepRange{3, 9}));
  EXPECT_EQ(read("3-9"), (StepRange{3, 9}));
  EXPECT_EQ(read("3.."), (StepRange{3, UINT32_MAX}));
  EXPECT_EQ(read("..9"), (StepRange{0, 9}));
}

TEST(StepRange, WhatIsNoneIsToldInOneLine) {
  for (const char* text : {"", "x", "3..x", "..", "-1", "9..3", "3 4", "4294967296", "1.5"}) {
    const auto range = parseStepRange(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_EQ(range.error().code, base::ExitCode::kBadInput);
    EXPECT_EQ(range.error().message().find('\n'), std::string::npos);
  }
}

TEST(RankChoice, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(parseRanks("3").value().ranks, std::vector<int>{3});
  EXPECT_EQ(parseRanks("17,3,5-8,6").value().ranks, (std::vector<int>{17, 3, 5, 6, 7, 8}));
  EXPECT_TRUE(parseRanks("outliers").value().outliers);
  EXPECT_TRUE(RankChoice().all());
  for (const char* text : {"", "x", "3,", "-1", "3-", "8-5", "3 4", "0-70000", "outlier"}) {
    const auto choice = parseRanks(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_NE(choice.error().message().find("write ranks as 3,17,100-120, or outliers"),
              std::string::npos);
  }
}

TEST(RankChoice, IsOfTheRanksThatARunHas) {
  EXPECT_TRUE(ranksOf({}, 4, {2}).value().empty());
  EXPECT_EQ(ranksOf({.ranks = {3, 1}}, 4, {2}).value(), (std::vector<int>{3, 1}));
  EXPECT_EQ(ranksOf({.outliers = true}, 4, {2}).value(), std::vector<int>{2});
  EXPECT_NE(ranksOf({.ranks = {4}}, 4, {})
                .error()
                .message()
                .find("rank 4 is not in this run, which has ranks 0 to 3"),
            std::string::npos);
  EXPECT_NE(
      ranksOf({.outliers = true}, 4, {}).error().message().find("no rank of this run is unlike"),
      std::string::npos);
}

TEST(Selection, IterationsHoldWhatIsTheirsAndNotTheStartUp) {
  Selection selection;
  trace::SpanRow span;
  span.kind = trace::EventKind::kForward;
  span.step = 3;
  EXPECT_TRUE(selection.holds(span));
  selection.steps = StepRange{3, 4};
  EXPECT_TRUE(selection.holds(span));
  span.step = 5;
  EXPECT_FALSE(selection.holds(span));
  span.step = 3;
  span.kind = trace::EventKind::kStartup;
  EXPECT_FALSE(selection.holds(span));
}

TEST(Selection, AStretchOfTimeHoldsWhatReachesIntoIt) {
  Selection selection;
  selection.ticks = TickRange{100, 200};
  trace::SpanRow span;
  span.kind = trace::EventKind::kForward;
  const auto holds = [&](std::uint64_t begin, std::uint64_t end) {
    span.startTicks = begin;
    span.durationTicks = end - begin;
    return selection.holds(span);
  };
  EXPECT_TRUE(holds(50, 150));
  EXPECT_TRUE(holds(150, 150)) << "an instant";
  EXPECT_TRUE(holds(50, 250));
  EXPECT_FALSE(holds(50, 99));
  EXPECT_FALSE(holds(200, 300)) << "the end is not in it";
}

}  // namespace
}  // namespace lockstep::exports

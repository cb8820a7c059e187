#include "engine/run/KindFacts.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"

namespace lockstep::run {
namespace {

using trace::EventKind;

TEST(KindFacts, KnowsEveryKindThatHasAName) {
  for (int number = 0; number < 200; ++number) {
    const auto kind = static_cast<EventKind>(number);
    if (trace::name(kind) != "unknown") {
      EXPECT_EQ(factsOf(kind).kind, kind) << trace::name(kind);
    }
  }
}

TEST(KindFacts, TakesAKindOfANewerFormatForAPhaseThatNobodyLooksAt) {
  for (const int number : {99, 127, 128, 60'000}) {
    const KindFacts& facts = factsOf(static_cast<EventKind>(number));
    EXPECT_EQ(facts.lane, LaneRole::kPhases);
    EXPECT_EQ(facts.row, 1);
    EXPECT_EQ(facts.traits, 0u);
  }
}

TEST(KindFacts, WhatAHookDoesIsAnalysedAndACallIsInFlight) {
  for (int number = 0; number < 128; ++number) {
    const auto kind = static_cast<EventKind>(number);
    EXPECT_TRUE(!has(kind, kHookPhase) || has(kind, kAnalysed)) << trace::name(kind);
    EXPECT_TRUE(!has(kind, kCall) || (has(kind, kInFlight) && has(kind, kOfCall)))
        << trace::name(kind);
  }
}

}  // namespace
}  // namespace lockstep::run

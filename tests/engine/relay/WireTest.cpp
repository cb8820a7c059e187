#include "engine/relay/Wire.h"
#include "engine/trace/Event.h"

#include <gmock/gmock.h>

namespace lockstep::relay {
namespace {

using testing::ElementsAre;

Batch someBatch() {
  trace::Event event;
  event.startTicks = 1'000;
  event.durationTicks = 7;
  event.kind = static_cast<std::uint16_t>(trace::EventKind::kBackward);
  event.step = 3;
  LanePart lane{2, "gloo 0", 5, {event, event}};
  RankPart part;
  part.rank = 1;
  part.suspended = true;
  part.sentBytes = 1 << 20;
  part.traceDone = 3 << 16 | 5;
  part.words.step = 3;
  part.words.hook = "allreduce";
  part.lanes = {lane};
  part.messages = {"{}", ""};
  return {9, 1'234, {part}};
}

TEST(Wire, ABatchComesOutAsItWentIn) {
  const auto decoded = decodeFromRelay(encode(FromRelay(someBatch())));
  ASSERT_TRUE(decoded);
  const auto& batch = std::get<Batch>(*decoded);
  EXPECT_EQ(batch.number, 9U);
  EXPECT_EQ(batch.nowTicks, 1'234U);
  ASSERT_EQ(batch.ranks.size(), 1U);
  const RankPart& part = batch.ranks[0];
  EXPECT_TRUE(part.suspended);
  EXPECT_EQ(part.sentBytes, 1U << 20);
  EXPECT_EQ(part.traceDone, 3U << 16 | 5U);
  EXPECT_EQ(part.words.hook, "allreduce");
  EXPECT_THAT(part.messages, ElementsAre("{}", ""));
  ASSERT_EQ(part.lanes.size(), 1U);
  EXPECT_EQ(part.lanes[0].name, "gloo 0");
  ASSERT_EQ(part.lanes[0].events.size(), 2U);
  EXPECT_EQ(part.lanes[0].events[1].durationTicks, 7U);
  EXPECT_EQ(part.lanes[0].events[1].step, 3U);
}

TEST(Wire, AHelloKeepsWhatIsNotSaidApartFromZero) {
  Hello hello;
  hello.nodeRank = 0;
  hello.environment = {{"clock", "tsc"}};
  const auto decoded = decodeFromRelay(encode(FromRelay(hello)));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::get<Hello>(*decoded).nodeRank, 0);
  EXPECT_EQ(std::get<Hello>(*decoded).worldSize, std::nullopt);
  EXPECT_EQ(std::get<Hello>(*decoded).environment.at("clock"), "tsc");
}

TEST(Wire, EveryCommandComesOutAsItself) {
  for (const ToRelay& message :
       {ToRelay(Welcome{}), ToRelay(Refusal{2, "no"}), ToRelay(Start{"host a"}), ToRelay(Ping{4}),
        ToRelay(SendSignal{1, 9}), ToRelay(SetCapture{false}), ToRelay(Farewell{}),
        ToRelay(Attached{}), ToRelay(RequestTrace{})}) {
    const auto decoded = decodeToRelay(encode(message));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->index(), message.index());
  }
}

TEST(Wire, AProcessThatAttachesAndItsAnswerComeOutAsTheyWentIn) {
  const auto asked = decodeFromRelay(encode(FromRelay(Attach{2, 4, 4711})));
  ASSERT_TRUE(asked);
  EXPECT_EQ(std::get<Attach>(*asked).rank, 2);
  EXPECT_EQ(std::get<Attach>(*asked).worldSize, 4);
  EXPECT_EQ(std::get<Attach>(*asked).pid, 4711);
  const auto answered = decodeToRelay(encode(ToRelay(Attached{2, 17, "there is one"})));
  ASSERT_TRUE(answered);
  EXPECT_EQ(std::get<Attached>(*answered).step, 17U);
  EXPECT_EQ(std::get<Attached>(*answered).refusal, "there is one");
  const auto traced = decodeToRelay(encode(ToRelay(RequestTrace{3 << 16 | 5})));
  ASSERT_TRUE(traced);
  EXPECT_EQ(std::get<RequestTrace>(*traced).request, 3U << 16 | 5U);
  const auto ended = decodeFromRelay(encode(FromRelay(CommandEnded{3, 9})));
  ASSERT_TRUE(ended);
  EXPECT_EQ(std::get<CommandEnded>(*ended).exitCode, 3);
  EXPECT_EQ(std::get<CommandEnded>(*ended).signal, 9);
}

TEST(Wire, WhatIsCutOffOrTooLongIsNoMessage) {
  const std::string whole = encode(FromRelay(someBatch()));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decodeFromRelay(std::string_view(whole).substr(0, length))) << length;
  }
  EXPECT_FALSE(decodeFromRelay(whole + '\0'));
}

TEST(Wire, CountsThatPromiseMoreThanIsThereTakeNoMemory) {
  // A batch with 4,294,967,295 ranks, and an output with as many bytes.
  for (const std::size_t kind : {FromRelay(Batch{}).index(), FromRelay(RankOutput{}).index()}) {
    std::string bytes(1, static_cast<char>(kind));
    bytes +=
        std::string(kind == FromRelay(Batch{}).index() ? 16 : 5, '\0') + std::string(4, '\xff');
    EXPECT_FALSE(decodeFromRelay(bytes));
  }
  EXPECT_FALSE(decodeFromRelay(std::string(1, '\x7f')));
}

}  // namespace
}  // namespace lockstep::relay

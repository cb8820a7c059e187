#include "engine/capture/RoomAhead.h"

#include <gtest/gtest.h>

namespace lockstep::capture {
namespace {

constexpr std::uint32_t kEvents = 10;  // of a step

void tell(RoomAhead& room, int rank, std::uint32_t first, std::uint32_t steps) {
  for (std::uint32_t step = first; step < first + steps; ++step) {
    for (std::uint32_t i = 0; i < kEvents; ++i) {
      room.add(rank, step);
    }
  }
}

TEST(RoomAhead, CountsWhatOtherRanksHaveStillToTellOfTheSameSteps) {
  RoomAhead room;
  room.setRanks(8);
  tell(room, 0, 0, 5);
  const double ofOne = room.bytes() / 8;
  for (int rank = 1; rank < 8; ++rank) {
    tell(room, rank, 0, 5);
    EXPECT_DOUBLE_EQ(room.bytes(), 8 * ofOne) << "what was to come has come";
  }
}

TEST(RoomAhead, WaitsForNobodyWhoDidNotTellOfAStepWhileItsRingWasEmpty) {
  RoomAhead room;
  room.setRanks(2);
  tell(room, 0, 0, 1);
  tell(room, 1, 0, 1);
  for (std::uint32_t step = 1; step < 1'000; ++step) {
    tell(room, 0, step, 1);
    room.evenOut();  // rank 1 has died
    room.measured(1'000);
  }
  EXPECT_DOUBLE_EQ(room.bytes(), 1'000);
}

TEST(RoomAhead, CountsStepsAndNotTheirNumbers) {
  RoomAhead first;
  RoomAhead later;
  for (RoomAhead* room : {&first, &later}) {
    room->setRanks(4);
  }
  tell(first, 0, 0, 3);
  tell(later, 0, 5'000'000, 3);
  EXPECT_DOUBLE_EQ(first.bytes(), later.bytes());
}

TEST(RoomAhead, GoesByTheFileWhereItWasLookedAt) {
  RoomAhead room;
  room.setRanks(1);
  room.addRows(100);
  const double estimated = room.bytes();
  EXPECT_GT(estimated, 0);
  room.measured(4'096);
  EXPECT_DOUBLE_EQ(room.bytes(), 4'096);
  room.addRows(100);
  EXPECT_DOUBLE_EQ(room.bytes(), 4'096 + estimated);
}

}  // namespace
}  // namespace lockstep::capture

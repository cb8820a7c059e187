#include "engine/process_group/shared_memory/Board.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lockstep::process_group::shared_memory {
namespace {

TEST(Board, RefusesNoOperationThatIsToBeSparedHoweverLongTheQueueIs) {
  const auto made = Board::create(2, tuningFor(2));
  ASSERT_TRUE(made.ok()) << made.error().message();
  Board& board = *made.value();
  EXPECT_TRUE(board.deliver(3));
  EXPECT_FALSE(board.broken());
  // As where a rank gives up that has 1000 operations in its queue.
  EXPECT_TRUE(board.refuse(1004));
  EXPECT_TRUE(board.broken());
  for (const std::uint64_t order : {4U, 258U, 259U, 1003U}) {
    EXPECT_FALSE(board.refused(order)) << order;
    EXPECT_TRUE(board.deliver(order)) << order;
  }
  EXPECT_TRUE(board.refused(1004));
  EXPECT_FALSE(board.deliver(1004));
}

TEST(Board, RefusesFromTheEarliestThatARankNamesAndNothingThatIsDelivered) {
  const auto made = Board::create(2, tuningFor(2));
  ASSERT_TRUE(made.ok()) << made.error().message();
  Board& board = *made.value();
  EXPECT_TRUE(board.deliver(5));
  EXPECT_TRUE(board.refuse(9));
  EXPECT_TRUE(board.refuse(7));
  EXPECT_TRUE(board.refuse(12));
  EXPECT_FALSE(board.refused(6));
  EXPECT_TRUE(board.refused(7));
  EXPECT_FALSE(board.refuse(4)) << "all ranks have taken a step with it";
  EXPECT_TRUE(board.refused(6));
  EXPECT_TRUE(board.delivered(5));
}

TEST(Board, WhatAnyNumberOfRanksShowBeginsOnALineOfTheCacheOfItsOwn) {
  for (int size = 1; size <= 40; ++size) {
    const auto made = Board::create(size, tuningFor(size));
    ASSERT_TRUE(made.ok()) << made.error().message();
    for (const std::uint64_t order : {0U, 1U}) {
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.value()->inlineArea(order, rank)) % 64, 0U)
            << "rank " << rank << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::process_group::shared_memory

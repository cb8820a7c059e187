#include "engine/process_group/shaped/ArrivalBoard.h"

#include <gtest/gtest.h>

#include <sstream>

#include "engine/store/HashStore.h"

namespace lockstep::process_group {
namespace {

TEST(ArrivalBoard, ShowsEachRankWhenTheOthersCame) {
  store::HashStore store;
  const auto first = ArrivalBoard::open(store, "board", 0, 2);
  const auto second = ArrivalBoard::open(store, "board", 1, 2);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->read(0, 1), std::nullopt);
  first->write(1, 1234);
  second->write(1, 99);
  EXPECT_EQ(second->read(0, 1), 1234);
  EXPECT_EQ(first->read(1, 1), 99);
  EXPECT_EQ(first->read(1, 2), std::nullopt);
}

TEST(ArrivalBoard, ForgetsWhatIsLongAgo) {
  store::HashStore store;
  const auto board = ArrivalBoard::open(store, "board", 0, 1);
  ASSERT_NE(board, nullptr);
  for (std::uint64_t number = 1; number <= 300; ++number) {
    board->write(number, static_cast<std::int64_t>(number));
  }
  EXPECT_EQ(board->read(0, 1), std::nullopt);
  EXPECT_EQ(board->read(0, 300), 300);
  EXPECT_EQ(board->read(0, 200), 200);
}

TEST(ArrivalBoard, IsNotSharedWithAnotherHost) {
  store::HashStore store;
  store.set("elsewhere", "7 /proc/1/fd/3 00000000-1111-2222-3333-444444444444 pid:[1]");
  store.set("none", "none");
  EXPECT_EQ(ArrivalBoard::open(store, "elsewhere", 1, 2), nullptr);
  EXPECT_EQ(ArrivalBoard::open(store, "none", 1, 2), nullptr);
}

TEST(ArrivalBoard, IsNotTakenForAnotherFileOfThatNumber) {
  store::HashStore store;
  const auto board = ArrivalBoard::open(store, "board", 0, 2);
  ASSERT_NE(board, nullptr);
  std::istringstream place(store.get("board"));
  std::uint64_t file = 0;
  std::string rest;
  std::getline(place >> file, rest);
  store.set("board", std::to_string(file + 1) + rest);
  EXPECT_EQ(ArrivalBoard::open(store, "board", 1, 2), nullptr);
}

}  // namespace
}  // namespace lockstep::process_group

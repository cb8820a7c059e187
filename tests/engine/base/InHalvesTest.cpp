#include "engine/base/InHalves.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lockstep::base {
namespace {

TEST(InHalves, CallsForEachPieceOnce) {
  for (const std::size_t pieces : {0, 1, 2, 7, 8}) {
    for (const std::size_t worthwhile : {1, 100}) {
      std::vector<int> called(pieces);
      inHalves(pieces, worthwhile, [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
          ++called[i];
        }
      });
      EXPECT_EQ(called, std::vector<int>(pieces, 1));
    }
  }
}

TEST(InHalves, StaysOnOneThreadWhereTwoAreNotWorthIt) {
  std::atomic<int> elsewhere = 0;
  const auto here = std::this_thread::get_id();
  const auto look = [&](std::size_t, std::size_t) {
    elsewhere += std::this_thread::get_id() == here ? 0 : 1;
  };
  inHalves(9, 10, look);
  EXPECT_EQ(elsewhere, 0);
  inHalves(10, 10, look);
  EXPECT_EQ(elsewhere, 1);
}

TEST(InHalves, HandsTheExceptionOfEitherHalfOut) {
  for (const std::size_t bad : {std::size_t{0}, std::size_t{5}}) {
    EXPECT_THROW(inHalves(6, 1,
                          [&](std::size_t from, std::size_t to) {
                            if (bad >= from && bad < to) {
                              throw std::runtime_error("no");
                            }
                          }),
                 std::runtime_error);
  }
}

}  // namespace
}  // namespace lockstep::base

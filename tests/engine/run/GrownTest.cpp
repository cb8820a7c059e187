#include "engine/run/Grown.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>

namespace lockstep::run {
namespace {

using testing::ElementsAre;

TEST(Grown, HoldsWhatWasPutInItsOrder) {
  Grown<std::string> list{"a", "b"};
  list.push_back("c");
  EXPECT_THAT(list, ElementsAre("a", "b", "c"));
  EXPECT_EQ(list.back(), "c");
  EXPECT_EQ(list[1], "b");
  EXPECT_FALSE(list.empty());
}

TEST(Grown, ACopyAndItsOriginalGrowApart) {
  for (const std::size_t size : {1u, 1023u, 1024u, 1025u}) {
    Grown<std::size_t> list;
    for (std::size_t i = 0; i < size; ++i) {
      list.push_back(i);
    }
    Grown<std::size_t> copy = list;
    list.push_back(100'000);
    copy.push_back(200'000);
    copy.push_back(200'001);
    list.push_back(100'001);
    ASSERT_EQ(list.size(), size + 2);
    ASSERT_EQ(copy.size(), size + 2);
    EXPECT_EQ(list[size], 100'000u);
    EXPECT_EQ(list[size + 1], 100'001u);
    EXPECT_EQ(copy[size], 200'000u);
    EXPECT_EQ(copy[size + 1], 200'001u);
    EXPECT_EQ(copy[size - 1], size - 1);
  }
}

TEST(Grown, ACopyIsReadWhileTheOriginalGrowsOnItsThread) {
  Grown<std::size_t> list;
  for (std::size_t i = 0; i < 1000; ++i) {
    list.push_back(i);
  }
  std::size_t sum = 0;
  std::thread reader([copy = list, &sum] {
    for (const std::size_t value : copy) {
      sum += value;
    }
  });
  for (std::size_t i = 0; i < 5000; ++i) {
    list.push_back(i);
  }
  reader.join();
  EXPECT_EQ(sum, 999u * 1000u / 2);
}

}  // namespace
}  // namespace lockstep::run

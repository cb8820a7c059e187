#include "engine/run/Grown.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/AllocatedBytes.h"

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

/// A row of which a chunk holds few.
struct Large {
  std::size_t number = 0;
  std::vector<int> more = {1, 2};
  std::array<char, 600> rest{};

  Large(std::size_t of) : number(of) {}  // as a number, of which there are lists, too
  bool operator==(std::size_t other) const { return number == other && more.size() == 2; }
};

template <typename T>
void expectGrowApart(std::size_t size) {
  Grown<T> list;
  for (std::size_t i = 0; i < size; ++i) {
    list.push_back(T(i));
  }
  Grown<T> copy = list;
  const Grown<T> first = copy;
  list.push_back(T(100'000));
  copy.push_back(T(200'000));
  const Grown<T> second = copy;
  copy.push_back(T(200'001));
  list.push_back(T(100'001));
  for (std::size_t i = 0; i < 2 * size; ++i) {
    list.push_back(T(300'000));
  }
  ASSERT_EQ(first.size(), size);
  ASSERT_EQ(second.size(), size + 1);
  ASSERT_EQ(copy.size(), size + 2);
  for (const Grown<T>* of : std::array<const Grown<T>*, 4>{&list, &copy, &first, &second}) {
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_TRUE((*of)[i] == i) << i << " of " << size;
    }
  }
  EXPECT_TRUE(list[size] == 100'000u && list[size + 1] == 100'001u);
  EXPECT_TRUE(copy[size] == 200'000u && copy[size + 1] == 200'001u);
  EXPECT_TRUE(second[size] == 200'000u);
}

TEST(Grown, ACopyAndItsOriginalGrowApart) {
  // Chunks hold 1024 numbers; of large rows 16. Tables hold 1, 2, 4, ... chunks.
  for (const std::size_t size : {0u, 1u, 1023u, 1024u, 1025u, 65'535u, 65'536u, 65'537u, 70'000u}) {
    expectGrowApart<std::size_t>(size);
  }
  for (const std::size_t size : {1u, 7u, 8u, 15u, 16u, 17u, 1023u, 1024u, 1025u, 1100u}) {
    expectGrowApart<Large>(size);
  }
}

/// How many bytes a copy takes that is added to.
template <typename T>
std::size_t bytesOfCopy(std::size_t size) {
  Grown<T> list;
  for (std::size_t i = 0; i < size; ++i) {
    list.push_back(T(i));
  }
  const std::size_t before = support::allocatedBytes();
  Grown<T> copy = list;
  copy.push_back(T(size));
  const Grown<T> another = copy;
  const std::size_t bytes = support::allocatedBytes() - before;
  for (std::size_t i = 0; i < size; i += 1 + size / 1'000) {
    EXPECT_EQ(&copy[i], &list[i]) << "not shared";
    EXPECT_EQ(&another[i], &list[i]) << "not shared";
  }
  return bytes;
}

TEST(Grown, ACopyThatIsAddedToTakesTheSameHoweverLongTheListIs) {
  EXPECT_EQ(bytesOfCopy<std::size_t>(1'000'000), bytesOfCopy<std::size_t>(1'500));
  EXPECT_EQ(bytesOfCopy<Large>(10'000), bytesOfCopy<Large>(20));
}

TEST(Grown, ACopyOfACopyKeepsWhatBothShareAndWhatIsItsOwn) {
  Grown<int> list;
  for (int i = 0; i < 3'000; ++i) {
    list.push_back(i);
  }
  Grown<int> copy = list;
  for (int i = 3'000; i < 5'500; ++i) {
    copy.push_back(i);
  }
  Grown<int> second = copy;
  copy.push_back(-1);
  second.push_back(5'500);
  Grown<int> third = second;
  third.push_back(5'501);
  list.push_back(-2);
  ASSERT_EQ(third.size(), 5'502u);
  for (int i = 0; i < 5'502; ++i) {
    ASSERT_EQ(third[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(second.back(), 5'500);
  EXPECT_EQ(copy.back(), -1);
  EXPECT_EQ(list.back(), -2);
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

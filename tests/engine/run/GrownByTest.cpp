#include "engine/run/GrownBy.h"

#include <gmock/gmock.h>

#include <string>

namespace lockstep::run {
namespace {

using testing::ElementsAre;

TEST(GrownBy, ReadsOneListAfterTheOther) {
  GrownBy<int, std::string> lists;
  EXPECT_TRUE(lists.empty());
  EXPECT_EQ(lists.begin(), lists.end());
  lists.push_back(7, "c");
  lists.push_back(-1, "a");
  lists.push_back(7, "d");
  lists.push_back(-1, "b");
  EXPECT_THAT(lists, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(lists.size(), 4u);
  EXPECT_THAT(lists.lists().at(7), ElementsAre("c", "d"));
}

TEST(GrownBy, ACopyStaysAsItIs) {
  GrownBy<int, int> lists;
  lists.push_back(1, 10);
  const GrownBy<int, int> copy = lists;
  lists.push_back(0, 5);
  lists.push_back(1, 11);
  EXPECT_THAT(copy, ElementsAre(10));
  EXPECT_THAT(lists, ElementsAre(5, 10, 11));
}

}  // namespace
}  // namespace lockstep::run

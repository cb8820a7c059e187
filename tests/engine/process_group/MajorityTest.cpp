#include "engine/process_group/Majority.h"

#include <gmock/gmock.h>

namespace lockstep::process_group {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Majority, NamesTheRanksThatDifferFromMost) {
  EXPECT_THAT(outvoted({{0, 7}, {1, 7}, {2, 7}}, 3), IsEmpty());
  EXPECT_THAT(outvoted({{2, 7}, {1, 9}, {0, 7}}, 3), ElementsAre(1));
  EXPECT_THAT(outvoted({{0, 1}, {1, 7}, {2, 7}, {3, 2}, {4, 7}}, 5), ElementsAre(0, 3));
}

TEST(Majority, NamesAllWhereNoValueHasMoreThanHalfOfTheGroup) {
  EXPECT_THAT(outvoted({{0, 7}, {1, 9}}, 2), ElementsAre(0, 1));
  EXPECT_THAT(outvoted({{0, 7}, {1, 7}, {2, 9}, {3, 9}}, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(outvoted({{1, 7}, {2, 9}}, 3), ElementsAre(1, 2)) << "rank 0 has not said";
  EXPECT_THAT(outvoted({{1, 7}, {2, 9}, {3, 7}}, 5), ElementsAre(1, 2, 3)) << "two of five";
}

}  // namespace
}  // namespace lockstep::process_group

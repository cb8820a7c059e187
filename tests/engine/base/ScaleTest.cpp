#include "engine/base/Scale.h"

#include <gmock/gmock.h>

#include <cmath>

namespace lockstep::base {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Scale, AStepIsTheNextRoundNumber) {
  EXPECT_DOUBLE_EQ(roundStep(0.9), 1);
  EXPECT_DOUBLE_EQ(roundStep(1), 1);
  EXPECT_DOUBLE_EQ(roundStep(1.1), 2);
  EXPECT_DOUBLE_EQ(roundStep(210), 500);
  EXPECT_DOUBLE_EQ(roundStep(0.06), 0.1);
  EXPECT_DOUBLE_EQ(roundStep(1000, 7), 200) << "seven ticks over 1000 would be 143 apart";
}

TEST(Scale, WithoutALengthTheStepIsOne) {
  EXPECT_DOUBLE_EQ(roundStep(0), 1);
  EXPECT_DOUBLE_EQ(roundStep(0, 5), 1);
  EXPECT_DOUBLE_EQ(roundStep(10, 0), 10);
}

TEST(Scale, LieOnMultiplesOfTheStep) {
  EXPECT_THAT((Scale{0.15, 0.6, 0, 100}.ticks(0.2)),
              ElementsAre(DoubleEq(0.2), DoubleEq(0.4), DoubleEq(0.6)));
  EXPECT_THAT((Scale{-1, 1, 0, 100}.ticks(1)), ElementsAre(-1, 0, 1));
  EXPECT_FALSE(std::signbit(Scale{0, 1, 0, 100}.ticks(1).front())) << "-0 is no label";
}

TEST(Scale, HaveAnEndWhereNumbersAreTooLargeToBeCounted) {
  EXPECT_THAT((Scale{2e16, 2e16, 0, 100}.ticks(1)), ElementsAre(2e16));
  EXPECT_LE((Scale{1e17, 1e17 + 64, 0, 100}.ticks(1).size()), 64u);
}

TEST(Scale, GoesFromValuesToPixelsAndBack) {
  const Scale up{10, 20, 200, 100};
  EXPECT_DOUBLE_EQ(up.at(10), 200);
  EXPECT_DOUBLE_EQ(up.at(15), 150);
  EXPECT_DOUBLE_EQ(up.valueAt(125), 17.5);
}

}  // namespace
}  // namespace lockstep::base

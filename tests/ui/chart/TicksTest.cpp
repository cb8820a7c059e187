#include "ui/chart/Ticks.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

TEST(Ticks, AreWrittenWithTheDecimalsOfTheirStep) {
  EXPECT_EQ(tickText(1.25, 0.05), "1.25");
  EXPECT_EQ(tickText(1.5, 0.5), "1.5");
  EXPECT_EQ(tickText(200, 100), "200");
  EXPECT_EQ(tickText(20000, 10000), "20,000") << "thousands as in a sentence";
  EXPECT_EQ(tickText(-1250.5, 0.5), "-1,250.5");
  EXPECT_EQ(tickText(-0.5, 0.5), "-0.5");
}

TEST(Ticks, LargeOnesHaveAnExponentAndTheDigitsThatTellThemApart) {
  EXPECT_EQ(tickText(5e34, 5e34), "5e+34");
  EXPECT_EQ(tickText(1.5e35, 5e34), "1.5e+35");
  EXPECT_EQ(tickText(-2e7, 1e7), "-2e+07");
  EXPECT_EQ(tickText(0, 5e34), "0");
  EXPECT_EQ(tickText(9500000, 500000), "9,500,000");
}

}  // namespace
}  // namespace lockstep::ui

#include "ui/chart/Ticks.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

TEST(Ticks, AreWrittenWithTheDecimalsOfTheirStep) {
  EXPECT_EQ(tickText(1.25, 0.05), "1.25");
  EXPECT_EQ(tickText(1.5, 0.5), "1.5");
  EXPECT_EQ(tickText(200, 100), "200");
}

}  // namespace
}  // namespace lockstep::ui

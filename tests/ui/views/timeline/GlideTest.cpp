#include "ui/views/timeline/Glide.h"

#include <gtest/gtest.h>

namespace lockstep::ui {
namespace {

constexpr TimeRange kFrom{0, 100};
constexpr TimeRange kTo{1000, 1200};

TEST(Glide, GoesFromWhatWasDrawnToTheNewRangeAndStopsThere) {
  Glide glide;
  EXPECT_FALSE(glide.moving());
  glide.begin(kFrom, 150);
  EXPECT_TRUE(glide.moving());
  EXPECT_EQ(glide.drawn(), kFrom);
  TimeRange before = kFrom;
  for (const qint64 ms : {20, 60, 100, 140}) {
    const TimeRange now = glide.step(kTo, ms);
    EXPECT_GT(now.startNs, before.startNs) << ms;
    EXPECT_GT(now.endNs, before.endNs) << ms;
    EXPECT_LT(now.startNs, kTo.startNs) << ms;
    EXPECT_EQ(glide.drawn(), now);
    before = now;
  }
  EXPECT_EQ(glide.step(kTo, 150), kTo);
  EXPECT_FALSE(glide.moving());
}

TEST(Glide, WhereNothingIsToMoveOrNothingWasDrawnItIsThereAtOnce) {
  Glide glide;
  glide.begin(kFrom, 0);
  EXPECT_FALSE(glide.moving());
  EXPECT_EQ(glide.step(kTo, 0), kTo);
  glide.begin({}, 150);
  EXPECT_FALSE(glide.moving());
}

}  // namespace
}  // namespace lockstep::ui

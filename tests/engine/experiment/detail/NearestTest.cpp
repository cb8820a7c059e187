#include "engine/experiment/detail/Nearest.h"

#include <gmock/gmock.h>

namespace lockstep::experiment::detail {
namespace {

TEST(Nearest, FindsAMistypedKey) {
  EXPECT_EQ(nearestKey("ddp.bucket_cap"), "ddp.bucket_cap_mb");
  EXPECT_EQ(nearestKey("ddp.bukcet_cap_mb"), "ddp.bucket_cap_mb");
  EXPECT_EQ(nearestKey("optimizer.learning-Rate"), "optimizer.learning_rate");
  EXPECT_EQ(nearestKey("data.batch"), "data.batch_size");
}

TEST(Nearest, FindsAKeyInTheWrongTable) {
  EXPECT_EQ(nearestKey("world_size"), "processes.world_size");
  EXPECT_EQ(nearestKey("ddp.momentum"), "optimizer.momentum");
  EXPECT_EQ(nearestKey("train.batchsize"), "data.batch_size");
}

TEST(Nearest, PrefersTheSameTableForANameThatStandsInTwo) {
  EXPECT_EQ(nearestKey("data.knd"), "data.kind");
  EXPECT_EQ(nearestKey("optimizer.knd"), "optimizer.kind");
}

TEST(Nearest, FindsNothingForAWordFromElsewhere) {
  EXPECT_EQ(nearestKey("ddp.zebra"), "");
  EXPECT_EQ(nearestTable("zebra"), "");
  EXPECT_EQ(nearestKey(""), "");
}

TEST(Nearest, FindsAMistypedTable) {
  EXPECT_EQ(nearestTable("modle"), "model");
}

}  // namespace
}  // namespace lockstep::experiment::detail

#include "engine/experiment/WrittenKeys.h"

#include <gtest/gtest.h>

namespace lockstep::experiment {
namespace {

using Keys = std::map<std::string, std::string>;

TEST(WrittenKeysTest, KeysCarryTheirTableAndFaultsTheirNumber) {
  EXPECT_EQ(writtenKeys("name = \"x\"\n[ddp]\nbucket_cap_mb = 0.4\njoin = true\n"
                        "[hook.inner]\nname = \"fp16\"\n"
                        "[[faults]]\nkind = \"kill\"\n[[faults]]\nkind = \"delay\"\nrank = 1\n"),
            (Keys{{"name", "\"x\""},
                  {"ddp.bucket_cap_mb", "0.4"},
                  {"ddp.join", "true"},
                  {"hook.inner.name", "\"fp16\""},
                  {"faults[0].kind", "\"kill\""},
                  {"faults[1].kind", "\"delay\""},
                  {"faults[1].rank", "1"}}));
}

TEST(WrittenKeysTest, KeysOfAnotherVersionAreReadAsTheyStand) {
  EXPECT_EQ(writtenKeys("[ddp]\nof_tomorrow = [1, 2]\n"), (Keys{{"ddp.of_tomorrow", "[1, 2]"}}));
}

TEST(WrittenKeysTest, WhatIsNoTomlHasNoKeys) {
  EXPECT_TRUE(writtenKeys("no experiment").empty());
}

}  // namespace
}  // namespace lockstep::experiment

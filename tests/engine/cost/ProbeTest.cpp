#include "engine/cost/Probe.h"

#include <gtest/gtest.h>

namespace lockstep::cost {
namespace {

TEST(Probe, ReadsWhatItWrites) {
  const std::string text = probeText({{4096, 153000.4, false}, {65536, 2e6, false}});
  EXPECT_EQ(text, "4096:153000 65536:2000000");
  const auto probes = probesFrom(text);
  ASSERT_EQ(probes.size(), 2u);
  EXPECT_EQ(probes[0].bytes, 4096u);
  EXPECT_EQ(probes[1].ns, 2e6);
}

TEST(Probe, LeavesOutWhatItCannotRead) {
  EXPECT_TRUE(probesFrom("").empty());
  EXPECT_EQ(probesFrom("x 4096 4096: :7 4096:1x 0:5 5:0 -4:7 8:9").size(), 1u);
}

}  // namespace
}  // namespace lockstep::cost

// The mean that `lockstep info` gives of what a hook counts and of a parameter that changed.
#include <gtest/gtest.h>

#include "engine/report/DdpLogging.h"

namespace lockstep::report {
namespace {

class LiveMeanTest : public testing::Test {
 protected:
  LiveMeanTest() {
    for (std::uint32_t step = 0; step < 10; ++step) {
      add("forward_compute_time", step, 5);
    }
  }
  void add(const std::string& name, std::uint32_t step, double value) {
    trace::MetricRow row;
    row.name = name;
    row.step = step;
    row.value = value;
    logging_.take(row);
  }
  std::string field(const std::string& name, const std::map<std::string, std::string>& facts) {
    trace::RankInfo rank;
    rank.environment = facts;
    return logging_.fields(rank)[name];
  }

  DdpLogging logging_;
};

TEST_F(LiveMeanTest, CountsTheStepsBeforeAParameterFirstChanged) {
  for (std::uint32_t step = 7; step < 10; ++step) {
    add("hook.period", step, 1);
  }
  const std::map<std::string, std::string> facts{{"ddp.hook.period", "2"}};
  EXPECT_EQ(field("avg_hook.period", facts), "1.7");
  EXPECT_EQ(field("hook.period", facts), "1");
}

TEST_F(LiveMeanTest, OfAParameterThatNeverChangedIsWhatItBeganWith) {
  EXPECT_EQ(field("hook.period", {{"ddp.hook.period", "2"}}), "2");
  EXPECT_EQ(field("avg_hook.period", {{"ddp.hook.period", "2"}}), "");
}

TEST_F(LiveMeanTest, OfACounterIsThatOfItsRows) {
  for (std::uint32_t step = 0; step < 10; step += 5) {
    add("hook.kept", step, 100 + step);
  }
  EXPECT_EQ(field("avg_hook.kept", {}), "102.5");
}

}  // namespace
}  // namespace lockstep::report

#include "engine/hooks/plugin/Watch.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>

namespace lockstep::hooks {
namespace {

using namespace std::chrono_literals;

TEST(Watch, TellsOnceWhoDoesNotComeBackAndFromWhat) {
  std::promise<std::pair<int, std::string>> told;
  Watch watch(3, 50ms, [&](int rank, const std::string& doing) {
    told.set_value({rank, doing});  // a second call would throw
  });
  watch.begin(1, "save");
  watch.begin(2, "load");
  watch.end(2);
  EXPECT_EQ(told.get_future().get(), std::make_pair(1, std::string("save")));
}

TEST(Watch, BeginsANewLimitWithEachThingThatARankDoes) {
  std::promise<std::string> told;
  Watch watch(1, 100ms, [&](int, const std::string& doing) { told.set_value(doing); });
  { const Watch::Doing first(watch, 0, "first"); }
  watch.begin(0, "second");
  EXPECT_EQ(told.get_future().get(), "second");
}

TEST(Watch, SaysNothingWhenAllHaveComeBack) {
  bool told = false;
  {
    Watch watch(1, 1h, [&](int, const std::string&) { told = true; });
    const Watch::Doing doing(watch, 0, "anything");
  }
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace lockstep::hooks

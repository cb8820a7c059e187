#include "engine/process_group/shaped/LinkClock.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

#include "engine/base/Clock.h"

namespace lockstep::process_group {
namespace {

using Direction = LinkClock::Direction;

TEST(LinkClock, LetsTransfersQueueOneAfterTheOther) {
  LinkClock clock;
  EXPECT_EQ(clock.take(Direction::kBoth, 100, 50), 150);
  EXPECT_EQ(clock.take(Direction::kBoth, 120, 10), 160);
  EXPECT_EQ(clock.take(Direction::kBoth, 1000, 10), 1010);
}

TEST(LinkClock, KeepsTheTwoDirectionsApart) {
  LinkClock clock;
  EXPECT_EQ(clock.take(Direction::kOut, 100, 50), 150);
  EXPECT_EQ(clock.take(Direction::kIn, 100, 20), 120);
  EXPECT_EQ(clock.take(Direction::kBoth, 100, 10), 160);
  EXPECT_EQ(clock.take(Direction::kIn, 100, 1), 161);
}

TEST(LinkClock, CallsInTheOrderOfTheirTimesAndNeverEarly) {
  LinkClock clock;
  const std::int64_t now = base::monotonicNs();
  std::vector<int> order;
  std::promise<std::int64_t> last;
  clock.callAt(now + 4'000'000, [&] {
    order.push_back(3);
    last.set_value(base::monotonicNs());
  });
  clock.callAt(now + 2'000'000, [&] { order.push_back(1); });
  clock.callAt(now + 2'000'000, [&] { order.push_back(2); });
  EXPECT_GE(last.get_future().get(), now + 4'000'000);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(LinkClock, CallsWhatIsLeftWhenItEnds) {
  bool called = false;
  {
    LinkClock clock;
    clock.callAt(base::monotonicNs() + 3'600'000'000'000, [&] { called = true; });
  }
  EXPECT_TRUE(called);
}

TEST(LinkClock, MayEndOnItsOwnThread) {
  auto clock = std::make_shared<LinkClock>();
  std::promise<void> released;
  std::promise<void> gone;
  auto held = std::shared_ptr<void>(nullptr, [&gone](void*) { gone.set_value(); });
  LinkClock& reference = *clock;
  reference.callAt(base::monotonicNs(), [clock, held = std::move(held),
                                         ready = released.get_future().share()] { ready.wait(); });
  clock.reset();
  released.set_value();
  gone.get_future().get();
}

}  // namespace
}  // namespace lockstep::process_group

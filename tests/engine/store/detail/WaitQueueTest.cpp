#include "engine/store/detail/WaitQueue.h"

#include <gmock/gmock.h>

namespace lockstep::store::detail {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class WaitQueueTest : public testing::Test {
 protected:
  Waiter waiter(Request request, std::vector<std::string> keys, std::int64_t atLeast = 0,
                int seconds = 10) {
    return {request, std::move(keys), atLeast, start + std::chrono::seconds(seconds)};
  }
  std::vector<WaitQueue::Id> change(const std::string& key, const std::string& value) {
    table.set(key, value);
    std::vector<WaitQueue::Id> ids;
    for (const auto& [id, satisfied] : queue.keyChanged(key)) {
      ids.push_back(id);
    }
    return ids;
  }

  WaitQueue::TimePoint start = std::chrono::steady_clock::now();
  KeyTable table;
  WaitQueue queue{table};
};

TEST_F(WaitQueueTest, ReleasesAWaiterWithItsLastKey) {
  queue.add(1, waiter(Request::kWait, {"a", "b"}));
  EXPECT_THAT(change("b", ""), IsEmpty());
  EXPECT_THAT(change("a", ""), testing::ElementsAre(1));
  EXPECT_EQ(queue.nextDeadline(), std::nullopt);
}

TEST_F(WaitQueueTest, WaitsAgainForAKeyThatWasDeletedMeanwhile) {
  queue.add(1, waiter(Request::kWait, {"a", "b"}));
  change("b", "");
  table.erase("b");
  EXPECT_THAT(change("a", ""), IsEmpty());
  EXPECT_THAT(change("b", ""), testing::ElementsAre(1));
}

TEST_F(WaitQueueTest, HoldsACounterUntilItIsLargeEnough) {
  queue.add(1, waiter(Request::kWaitAtLeast, {"n"}, 2));
  EXPECT_THAT(change("n", "1"), IsEmpty());
  EXPECT_THAT(change("n", "word"), IsEmpty());
  EXPECT_THAT(change("n", "3"), testing::ElementsAre(1));
}

TEST_F(WaitQueueTest, ReleasesEveryWaiterOfAKey) {
  queue.add(1, waiter(Request::kGet, {"a"}));
  queue.add(2, waiter(Request::kGet, {"a"}));
  queue.add(3, waiter(Request::kGet, {"b"}));
  EXPECT_THAT(change("a", ""), testing::UnorderedElementsAre(1, 2));
}

TEST_F(WaitQueueTest, GivesUpThoseWhoseTimeHasPassed) {
  queue.add(1, waiter(Request::kGet, {"a"}, 0, 10));
  queue.add(2, waiter(Request::kGet, {"a"}, 0, 5));
  EXPECT_EQ(queue.nextDeadline(), start + std::chrono::seconds(5));
  EXPECT_THAT(queue.expired(start + std::chrono::seconds(4)), IsEmpty());
  const auto late = queue.expired(start + std::chrono::seconds(6));
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].first, 2U);
  EXPECT_THAT(change("a", ""), testing::ElementsAre(1));
}

TEST_F(WaitQueueTest, ForgetsAClientThatLeft) {
  queue.add(1, waiter(Request::kGet, {"a"}));
  queue.remove(1);
  queue.remove(1);
  EXPECT_THAT(change("a", ""), IsEmpty());
  EXPECT_THAT(queue.expired(start + std::chrono::hours(1)), IsEmpty());
}

}  // namespace
}  // namespace lockstep::store::detail

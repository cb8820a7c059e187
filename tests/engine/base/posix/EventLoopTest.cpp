#include "engine/base/posix/EventLoop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/posix/WakeUp.h"

namespace lockstep::posix {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class EventLoopTest : public testing::Test {
 protected:
  static steady_clock::time_point soon() { return steady_clock::now() + std::chrono::seconds(10); }

  EventLoop loop = std::move(EventLoop::create()).value();
};

TEST_F(EventLoopTest, CallsWhoeverHasSomethingToRead) {
  const WakeUp first;
  const WakeUp second;
  std::vector<int> called;
  ASSERT_TRUE(loop.add(first.fd(), [&] { called.push_back(1); }).ok());
  ASSERT_TRUE(loop.add(second.fd(), [&] { called.push_back(2); }).ok());
  second.wake();
  loop.waitUntil(soon());
  EXPECT_EQ(called, std::vector<int>{2});
  second.clear();
  loop.waitUntil(steady_clock::now());
  EXPECT_EQ(called, std::vector<int>{2});
}

TEST_F(EventLoopTest, IsWokenByAnotherThread) {
  const WakeUp wakeUp;
  bool called = false;
  ASSERT_TRUE(loop.add(wakeUp.fd(), [&] { called = true; }).ok());
  std::thread other([&] { wakeUp.wake(); });
  loop.waitUntil(soon());
  other.join();
  EXPECT_TRUE(called);
}

TEST_F(EventLoopTest, SleepsNoLongerThanUntilTheDeadline) {
  const auto begin = steady_clock::now();
  loop.waitUntil(begin + milliseconds(30));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(30));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(EventLoopTest, ACallbackMayRemoveItselfAndOthers) {
  const WakeUp first;
  const WakeUp second;
  first.wake();
  second.wake();
  int calls = 0;
  const auto once = [&] {
    ++calls;
    loop.remove(first.fd());
    loop.remove(second.fd());
  };
  ASSERT_TRUE(loop.add(first.fd(), once).ok());
  ASSERT_TRUE(loop.add(second.fd(), once).ok());
  loop.waitUntil(soon());
  loop.waitUntil(steady_clock::now());
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, WhatHappenedToAnOwnerOfANumberIsNotToldToTheNext) {
  std::array<std::optional<WakeUp>, 2> all;
  int strangers = 0;
  // Whichever is called first closes both; their numbers go to two that nobody wakes.
  const auto replace = [&] {
    for (auto& one : all) {
      loop.remove(one->fd());
      one.reset();
    }
    for (auto& one : all) {
      one.emplace();
      ASSERT_TRUE(loop.add(one->fd(), [&] { ++strangers; }).ok());
    }
  };
  for (auto& one : all) {
    one.emplace();
    one->wake();
    ASSERT_TRUE(loop.add(one->fd(), replace).ok());
  }
  loop.waitUntil(soon());
  EXPECT_EQ(strangers, 0);
}

TEST_F(EventLoopTest, WaitsForWhatADescriptorIsInterestedIn) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  const Descriptor mine(ends[0]);
  Descriptor theirs(ends[1]);
  std::uint32_t seen = 0;
  ASSERT_TRUE(
      loop.add(mine.get(), EPOLLIN | EPOLLRDHUP, [&](std::uint32_t events) { seen = events; })
          .ok());
  loop.waitUntil(steady_clock::now());
  EXPECT_EQ(seen, 0u);
  loop.setInterest(mine.get(), EPOLLOUT);
  loop.waitUntil(soon());
  EXPECT_EQ(seen, static_cast<std::uint32_t>(EPOLLOUT));
  loop.setInterest(mine.get(), EPOLLIN | EPOLLRDHUP);
  theirs.reset();
  loop.waitUntil(soon());
  EXPECT_NE(seen & EPOLLRDHUP, 0u);
}

TEST_F(EventLoopTest, RefusesWhatCannotBeWatched) {
  EXPECT_EQ(loop.add(-1, [] {}).error().what, "cannot watch a descriptor: Bad file descriptor");
}

}  // namespace
}  // namespace lockstep::posix

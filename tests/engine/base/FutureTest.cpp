#include "engine/base/Future.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

namespace lockstep::base {
namespace {

using namespace std::chrono_literals;

std::exception_ptr failure() {
  return std::make_exception_ptr(std::runtime_error("peer is gone"));
}

TEST(FutureTest, CarriesAValueToAnotherThread) {
  const Future<int> future;
  std::thread producer([&] { future.setValue(7); });
  ASSERT_TRUE(future.waitFor(30s));
  EXPECT_EQ(future.value(), 7);
  EXPECT_EQ(future.value(), 7) << "may be read again";
  producer.join();
}

TEST(FutureTest, StopsWaitingWhenTheTimeIsOver) {
  const Future<int> future;
  EXPECT_FALSE(future.waitFor(1ms));
  EXPECT_FALSE(future.completed());
}

TEST(FutureTest, CarriesAnExceptionInstead) {
  const Future<int> future;
  future.setException(failure());
  EXPECT_TRUE(future.completed());
  EXPECT_TRUE(future.failed());
  EXPECT_THROW((void)future.value(), std::runtime_error);
}

TEST(FutureTest, CallsBackWhenCompletedAndAtOnceWhenItWasAlready) {
  const Future<int> future;
  std::string calls;
  future.whenComplete([&](const Future<int>& done) { calls += std::to_string(done.value()); });
  EXPECT_EQ(calls, "");
  future.setValue(4);
  EXPECT_EQ(calls, "4");
  future.whenComplete([&](const Future<int>& done) { calls += std::to_string(done.value() + 1); });
  EXPECT_EQ(calls, "45");
}

TEST(FutureTest, HoldsNoLockWhileItCallsBack) {
  const Future<int> future;
  bool looked = false;
  future.whenComplete([&](const Future<int>& done) {
    std::thread other([&] { looked = done.completed(); });
    other.join();
  });
  future.setValue(1);
  EXPECT_TRUE(looked);
}

TEST(FutureTest, ChainsWithoutBlocking) {
  const Future<int> future;
  const Future<std::string> text =
      future.then([](int value) { return std::to_string(value); }).then([](const std::string& s) {
        return s + "!";
      });
  EXPECT_FALSE(text.completed());
  future.setValue(12);
  EXPECT_EQ(text.value(), "12!");
}

TEST(FutureTest, PassesAnExceptionDownTheChain) {
  const Future<int> future;
  bool ran = false;
  const Future<int> next = future.then([&](int value) {
    ran = true;
    return value;
  });
  future.setException(failure());
  EXPECT_FALSE(ran);
  EXPECT_THROW((void)next.value(), std::runtime_error);
}

TEST(FutureTest, TurnsAnExceptionOfAStepIntoItsResult) {
  const Future<int> next =
      Future<int>::ready(1).then([](int) -> int { throw std::logic_error("x"); });
  EXPECT_TRUE(next.failed());
  EXPECT_THROW((void)next.value(), std::logic_error);
}

TEST(FutureTest, RunsEveryCallbackOnceWhoeverCompletesIt) {
  for (int round = 0; round < 200; ++round) {
    const Future<int> future;
    std::atomic<int> calls{0};
    std::thread completing([&] { future.setValue(round); });
    for (int i = 0; i < 10; ++i) {
      future.whenComplete([&](const Future<int>&) { ++calls; });
    }
    completing.join();
    EXPECT_EQ(calls, 10);
  }
}

TEST(FutureDeathTest, RefusesToBeCompletedTwice) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        const Future<int> future;
        future.setValue(1);
        future.setValue(2);
      },
      "completed twice");
}

}  // namespace
}  // namespace lockstep::base

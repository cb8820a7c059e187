#include "engine/base/Thread.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockstep::base {
namespace {

TEST(ThreadTest, KeepsFifteenCharactersOfAName) {
  std::string name;
  std::thread thread([&] {
    nameThisThread("recorder of the run");
    name = thisThreadName();
  });
  thread.join();
  EXPECT_EQ(name, "recorder of the");
}

}  // namespace
}  // namespace lockstep::base

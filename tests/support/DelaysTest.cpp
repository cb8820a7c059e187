#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "tests/support/ChildProcess.h"

namespace lockstep::support {
namespace {

std::string library() {
  const char* folder = std::getenv("LOCKSTEP_BIN");
  return std::string(folder != nullptr ? folder : ".") + "/liblockstep_delays.so";
}

TEST(Delays, HoldAProgramUpThatDoesTheSame) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has its own place before all libraries";
#endif
  constexpr int kReads = 1'000;
  const auto begin = std::chrono::steady_clock::now();
  ChildProcess copy({"/usr/bin/dd",
                     {"if=/dev/zero", "bs=1", "count=" + std::to_string(kReads)},
                     {{"LD_PRELOAD", library()}}});
  EXPECT_EQ(copy.wait(), ExitStatus{});
  EXPECT_EQ(copy.output(), std::string(kReads, '\0'));
  // Of the 4,000 places before and after a read or a write some 250 hold up, for 5 ms on average.
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(250));
}

}  // namespace
}  // namespace lockstep::support

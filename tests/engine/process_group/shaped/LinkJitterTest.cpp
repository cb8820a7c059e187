#include "engine/process_group/shaped/LinkJitter.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::process_group {
namespace {

TEST(LinkJitter, IsTheSameFromTheSameSeed) {
  const LinkJitter a(100, 7);
  const LinkJitter b(100, 7);
  const LinkJitter other(100, 8);
  std::set<std::int64_t> values;
  bool differs = false;
  double sum = 0;
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    const std::int64_t jitter = a.ns(0, number);
    EXPECT_EQ(jitter, b.ns(0, number));
    differs |= jitter != other.ns(0, number);
    EXPECT_GE(jitter, 0);
    EXPECT_LT(jitter, 100'000);
    values.insert(jitter);
    sum += static_cast<double>(jitter);
  }
  EXPECT_TRUE(differs);
  EXPECT_GT(values.size(), 950u);
  EXPECT_NEAR(sum / 1000, 50'000, 5'000);
}

}  // namespace
}  // namespace lockstep::process_group

#include "engine/trace/StolenTime.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/engine/trace/TemporaryFolder.h"

namespace lockstep::trace {
namespace {

constexpr std::int64_t kSecond = StolenTime::kWindowNs;

/// As the kernel writes it; `first` and `second` are what was taken of two cores.
void writeStat(const std::filesystem::path& path, int first, int second) {
  std::ofstream(path) << "cpu  900 0 90 4000 10 0 5 " << first + second << " 0 0\n"
                      << "cpu0 400 0 40 2000 5 0 2 " << first << " 0 0\n"
                      << "cpu1 500 0 50 2000 5 0 3 " << second << " 0 0\n"
                      << "intr 12345 0 0\ncpu9 1 1 1 1 1 1 1 999999\n";
}

TEST(StolenTime, IsOfTheCoreThatLostMostInTheLastSecond) {
  const TemporaryFolder folder;
  const auto stat = folder.path() / "stat";
  const int tick = static_cast<int>(sysconf(_SC_CLK_TCK)) / 100;  // a hundredth of a second
  StolenTime stolen(stat);
  writeStat(stat, 100 * tick, 200 * tick);
  EXPECT_EQ(stolen.percent(kSecond), std::nullopt) << "nothing to compare with yet";
  writeStat(stat, 125 * tick, 203 * tick);
  EXPECT_EQ(stolen.percent(kSecond + kSecond / 2), std::nullopt) << "the first is not over";
  EXPECT_DOUBLE_EQ(stolen.percent(2 * kSecond).value(), 25);
  writeStat(stat, 125 * tick, 223 * tick);
  EXPECT_DOUBLE_EQ(stolen.percent(2 * kSecond + kSecond / 2).value(), 25) << "still that second";
  EXPECT_DOUBLE_EQ(stolen.percent(4 * kSecond).value(), 10) << "0.2 of 2 seconds";
}

TEST(StolenTime, IsUnknownWhereTheKernelDoesNotSay) {
  const TemporaryFolder folder;
  StolenTime missing(folder.path() / "none");
  EXPECT_EQ(missing.percent(kSecond), std::nullopt);
  EXPECT_EQ(missing.percent(3 * kSecond), std::nullopt);
  std::ofstream(folder.path() / "old") << "cpu 1 2 3 4\ncpu0 1 2 3 4\n";
  StolenTime old(folder.path() / "old");
  EXPECT_EQ(old.percent(kSecond), std::nullopt);
  EXPECT_EQ(old.percent(3 * kSecond), std::nullopt);
}

}  // namespace
}  // namespace lockstep::trace

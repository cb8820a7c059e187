#include "tests/support/RankThreads.h"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <stdexcept>

namespace lockstep::support {
namespace {

TEST(RankThreads, RunsEveryRankOnce) {
  std::array<std::atomic<int>, 4> runs{};
  runRanks(4, [&](int rank) { ++runs[static_cast<std::size_t>(rank)]; });
  for (const auto& count : runs) {
    EXPECT_EQ(count, 1);
  }
}

TEST(RankThreads, RethrowsTheErrorWithTheRankNamed) {
  try {
    runRanks(3, [](int rank) {
      if (rank == 2) {
        throw std::invalid_argument("no bucket");
      }
    });
    FAIL() << "nothing was thrown";
  } catch (const RankFailure& failure) {
    EXPECT_EQ(failure.rank, 2);
    EXPECT_STREQ(failure.what(), "rank 2: no bucket");
    EXPECT_THROW(std::rethrow_exception(failure.cause), std::invalid_argument);
  }
}

}  // namespace
}  // namespace lockstep::support

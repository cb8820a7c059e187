#include "engine/analysis/LastRanks.h"

#include <gtest/gtest.h>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {
namespace {

using trace::EventKind;

/// Two ranks; rank 1 comes so much later than the other, below 0 earlier, in ticks by step.
LastRanks lastOf(const std::vector<int>& later) {
  HandMadeRun run(2);
  for (std::uint32_t step = 0; step < later.size(); ++step) {
    const std::uint64_t at = step * 30'000ULL;
    for (int rank = 0; rank < 2; ++rank) {
      run.add(rank, EventKind::kStep, at, at + 20'000, step);
      const std::uint64_t came =
          at + 8'000 + static_cast<std::uint64_t>(rank == 1 ? later[step] : 0);
      run.addCollective(rank, came, at + 19'000, step, step);
    }
  }
  return lastRanks(analyse(run.data()));
}

TEST(LastRanksTest, CountTheIterationsAfterTheWarmUp) {
  // The first is warm-up.
  const LastRanks last = lastOf({5'000, 1'000, -2'000, 3'000, 2'000});
  EXPECT_EQ(last.steps, 4u);
  EXPECT_EQ(last.ranks.at(1).steps, 3u);
  EXPECT_EQ(last.ranks.at(1).worst, 3u) << "waited for longest";
  EXPECT_EQ(last.ranks.at(0).steps, 1u);
  EXPECT_EQ(last.mostOften(), 1);
}

TEST(LastRanksTest, NameNobodyWhereTwoWereEquallyOften) {
  EXPECT_EQ(lastOf({0, 1'000, -1'000, 2'000, -3'000}).mostOften(), std::nullopt);
  EXPECT_EQ(LastRanks().mostOften(), std::nullopt);
}

}  // namespace
}  // namespace lockstep::analysis

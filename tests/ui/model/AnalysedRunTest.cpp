#include "ui/model/AnalysedRun.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::ui {
namespace {

TEST(AnalysedRunTest, ComparesItsRanksOnceForAllWhoAsk) {
  analysis::HandMadeRun steps(2);
  for (std::uint32_t step = 0; step < 3; ++step) {
    for (const int rank : {0, 1}) {
      steps.add(rank, trace::EventKind::kStep, step * 10'000, step * 10'000 + 9'000, step);
    }
  }
  AnalysedRun run;
  run.data = steps.data();
  run.analysis = analysis::analyse(run.data);
  const AnalysedRun shared = run;
  std::array<const diagnosis::RankLikeness*, 4> asked{};
  std::array<std::thread, asked.size()> threads;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    threads[i] = std::thread([&, i] { asked[i] = &shared.likeness(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const diagnosis::RankLikeness* likeness : asked) {
    EXPECT_EQ(likeness, &run.likeness()) << "a copy is of the same run";
  }
  EXPECT_EQ(run.likeness().ranks, 2u);
}

TEST(AnalysedRunTest, KeepsWhereItsRanksAre) {
  std::vector<trace::RankInfo> ranks(2);
  ranks[1].rank = 1;
  ranks[1].host = 3;
  ranks[1].stderrTail = "much";
  const auto places = placesOf(ranks);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[1].rank, 1);
  EXPECT_EQ(places[1].host, 3);
  EXPECT_TRUE(places[1].stderrTail.empty()) << "what grows with a run is left out";
}

}  // namespace
}  // namespace lockstep::ui

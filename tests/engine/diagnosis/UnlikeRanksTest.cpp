#include "engine/diagnosis/UnlikeRanks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::diagnosis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using trace::EventKind;

/// What a rank does more than the others in a step, in ticks of a microsecond.
struct More {
  std::uint64_t computes = 0;
  std::uint64_t idles = 0;  // before its collective, where no phase was recorded
  std::uint64_t transfers = 0;
};
using Planted = std::function<More(int rank, std::uint32_t step)>;

/// Steps of about 12 ms of ranks that compute 8 ms, less or more by up to 0.2, and meet.
analysis::RunAnalysis meeting(int ranks, std::uint32_t steps, const Planted& planted,
                              std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  analysis::HandMadeRun run(ranks);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t at = step * 100'000;
    std::vector<std::uint64_t> arrivals;
    std::uint64_t there = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const More more = planted(rank, step);
      const std::uint64_t computed = at + 7'800 + random() % 400 + more.computes;
      run.add(rank, EventKind::kBackward, at, computed, step);
      arrivals.push_back(computed + more.idles);
      there = std::max(there, arrivals.back());
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint64_t done = there + 2'900 + random() % 200 + planted(rank, step).transfers;
      run.addCollective(rank, arrivals[static_cast<std::size_t>(rank)], done, step + 1, step);
      run.add(rank, EventKind::kStep, at, done + 500, step);
    }
  }
  return analyse(run.data());
}

RankLikeness likenessOf(const analysis::RunAnalysis& run, int ranksAHost = 1000) {
  std::vector<trace::RankInfo> ranks;
  std::vector<trace::HostState> hosts;
  for (const auto& of : run.ranks) {
    trace::RankInfo& rank = ranks.emplace_back();
    rank.rank = of.rank;
    rank.host = of.rank / ranksAHost;
    if (hosts.size() <= static_cast<std::size_t>(rank.host)) {
      hosts.push_back({{rank.host, "node" + std::to_string(rank.host), "", "tsc"}, {}});
    }
  }
  return rankLikeness(run, ranks, hosts);
}

More nothing(int, std::uint32_t) {
  return {};
}

TEST(UnlikeRanksTest, NamesTheRankThatComputesLonger) {
  const RankLikeness likeness = likenessOf(
      meeting(16, 40, [](int rank, std::uint32_t) { return More{rank == 11 ? 4'000u : 0u}; }));
  ASSERT_EQ(likeness.unlike.size(), 1u);
  const UnlikeRanks& one = likeness.unlike.front();
  EXPECT_THAT(one.ranks, ElementsAre(11));
  EXPECT_EQ(name(one.kind), "computing");
  EXPECT_NEAR(one.ms, 4, 0.2);
  EXPECT_NEAR(one.ratio, 1.5, 0.05);
  EXPECT_FALSE(one.period);
  EXPECT_TRUE(likeness.isUnlike(11));
  EXPECT_FALSE(likeness.isUnlike(10));
  EXPECT_THAT(phraseOf(one), HasSubstr("ms a step longer than the middle rank (1."));
  EXPECT_THAT(unlikeText(likeness), HasSubstr("rank 11 computes "));
  EXPECT_THAT(unlikeText(likeness), HasSubstr("; the other 15 of 16 ranks do not stand out"));
}

TEST(UnlikeRanksTest, NamesTheRankWhoseTransfersTakeLonger) {
  const RankLikeness likeness = likenessOf(meeting(16, 40, [](int rank, std::uint32_t) {
    return More{0, 0, rank == 3 ? 2'500u : 0u};
  }));
  ASSERT_EQ(likeness.unlike.size(), 1u);
  EXPECT_THAT(likeness.unlike.front().ranks, ElementsAre(3));
  EXPECT_EQ(name(likeness.unlike.front().kind), "transfer");
  EXPECT_NEAR(likeness.unlike.front().ms, 2.5, 0.2);
  EXPECT_THAT(unlikeText(likeness), HasSubstr("rank 3 transfers 2."));
}

TEST(UnlikeRanksTest, SaysInWhichStepsARankIsSlow) {
  const RankLikeness likeness = likenessOf(meeting(16, 80, [](int rank, std::uint32_t step) {
    return More{rank == 5 && step % 8 == 4 ? 16'000u : 0u};
  }));
  ASSERT_EQ(likeness.unlike.size(), 1u);
  const UnlikeRanks& one = likeness.unlike.front();
  ASSERT_TRUE(one.period);
  EXPECT_EQ(one.period->every, 8u);
  EXPECT_EQ(one.period->first, 4u);
  EXPECT_NEAR(one.strikeMs, 16, 0.5);
  EXPECT_THAT(phraseOf(one), HasSubstr("ms in every 8th step (step 4 is one) longer than"));
}

// It comes late to its collectives, and nothing that was recorded says why.
TEST(UnlikeRanksTest, NamesTheRankThatComesLateForNoReasonThatWasRecorded) {
  const RankLikeness likeness = likenessOf(meeting(16, 40, [](int rank, std::uint32_t) {
    return More{0, rank == 9 ? 3'000u : 0u};
  }));
  ASSERT_EQ(likeness.unlike.size(), 1u);
  EXPECT_EQ(name(likeness.unlike.front().kind), "late");
  EXPECT_THAT(unlikeText(likeness), HasSubstr("rank 9 comes "));
  EXPECT_THAT(unlikeText(likeness), HasSubstr("ms a step later than the others"));
}

// Two are too few to say by themselves which of them is the other one: the rule of a late rank
// does.
TEST(UnlikeRanksTest, OfAHandfulNamesThoseThatAreLateAndWhy) {
  const analysis::RunAnalysis run = meeting(2, 40, [](int rank, std::uint32_t) {
    return More{rank == 1 ? 4'000u : 0u, 0, rank == 0 ? 3'000u : 0u};
  });
  ASSERT_TRUE(run.isLate(1));
  const RankLikeness likeness = likenessOf(run);
  ASSERT_EQ(likeness.unlike.size(), 1u);
  EXPECT_THAT(likeness.unlike.front().ranks, ElementsAre(1));
  EXPECT_EQ(name(likeness.unlike.front().kind), "computing");
  EXPECT_NEAR(likeness.unlike.front().ms, 4, 0.2) << "more than the other one";
}

TEST(UnlikeRanksTest, NamesTheHostWhereMostOfItsRanksAreSlow) {
  const RankLikeness likeness = likenessOf(
      meeting(32, 40,
              [](int rank, std::uint32_t) {
                return More{rank / 8 == 2 && rank != 20 ? 3'000u : rank == 1 ? 5'000u : 0u};
              }),
      8);
  ASSERT_EQ(likeness.unlike.size(), 2u);
  EXPECT_THAT(likeness.unlike[0].ranks, ElementsAre(1)) << "the larger first";
  EXPECT_FALSE(likeness.unlike[0].host);
  EXPECT_EQ(likeness.unlike[1].host, "node2");
  EXPECT_EQ(likeness.unlike[1].ranks.size(), 7u);
  EXPECT_THAT(
      phraseOf(likeness.unlike[1]),
      HasSubstr("host node2 (7 of its 8 ranks: ranks 16, 17, 18, 19, 21, 22, 23) computes"));
}

TEST(UnlikeRanksTest, AccusesNobodyOfAHealthyRun) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const RankLikeness likeness = likenessOf(meeting(32, 30, nothing, seed), 8);
    EXPECT_TRUE(likeness.unlike.empty()) << seed << ": " << unlikeText(likeness);
    EXPECT_EQ(likeness.classes.size(), 1u) << seed;
  }
  EXPECT_EQ(unlikeText(likenessOf(meeting(32, 30, nothing))),
            "none of 32 ranks stands out beyond chance");
}

TEST(UnlikeRanksTest, AccusesNobodyOfOneLongStep) {
  const RankLikeness likeness = likenessOf(meeting(16, 40, [](int rank, std::uint32_t step) {
    return More{rank == 7 && step == 20 ? 60'000u : 0u};
  }));
  EXPECT_TRUE(likeness.unlike.empty()) << unlikeText(likeness);
}

// One rank has lost events in each step, another each time: there is no step that all have whole.
TEST(UnlikeRanksTest, TellsRanksApartWhereSomeHaveLostEvents) {
  analysis::RunAnalysis run =
      meeting(16, 40, [](int rank, std::uint32_t) { return More{rank == 11 ? 4'000u : 0u}; });
  run::GrownBy<int, analysis::StepTicks> rows;
  for (analysis::StepTicks step : run.stepRows) {
    step.incomplete = step.step % 16 == static_cast<std::uint32_t>(step.rank);
    rows.push_back(step.rank, step);
  }
  run.stepRows = rows;
  const RankLikeness likeness = likenessOf(run);
  ASSERT_EQ(likeness.unlike.size(), 1u) << unlikeText(likeness);
  EXPECT_THAT(likeness.unlike.front().ranks, ElementsAre(11));
}

TEST(UnlikeRanksTest, SaysWhereItCannotTell) {
  EXPECT_EQ(unlikeText(likenessOf(meeting(1, 20, nothing))),
            "there is no other rank to compare with");
  EXPECT_EQ(unlikeText(likenessOf(meeting(16, 3, nothing))),
            "too few steps were measured to tell ranks apart");
}

TEST(UnlikeRanksTest, PutsRanksThatLookTheSameIntoOneClass) {
  // Ranks 4 and 5 are slow alike, 6 is slower, 12 transfers longer.
  const RankLikeness likeness = likenessOf(meeting(24, 40, [](int rank, std::uint32_t) {
    return More{rank == 4 || rank == 5 ? 3'000u
                : rank == 6            ? 9'000u
                                       : 0u,
                0, rank == 12 ? 3'000u : 0u};
  }));
  ASSERT_EQ(likeness.classes.size(), 4u);
  EXPECT_EQ(likeness.classes[0].ranks.size(), 20u);
  EXPECT_FALSE(likeness.classes[0].unlike);
  EXPECT_THAT(likeness.classes[1].ranks, ElementsAre(4, 5));
  EXPECT_TRUE(likeness.classes[1].unlike);
  EXPECT_THAT(likeness.classes[2].ranks, ElementsAre(6));
  EXPECT_THAT(likeness.classes[3].ranks, ElementsAre(12));
}

TEST(UnlikeRanksTest, ListsNoMoreThanIsRead) {
  RankLikeness likeness;
  likeness.judged = true;
  likeness.ranks = 100;
  for (int rank = 0; rank < 14; ++rank) {
    likeness.unlike.push_back({{rank}, std::nullopt, 0, Unlikeness::kLate, 3, 0, std::nullopt, 0});
  }
  EXPECT_THAT(unlikeText(likeness), HasSubstr("rank 11 comes 3.00 ms a step later"));
  EXPECT_THAT(unlikeText(likeness), HasSubstr("; and 2 more; the other 86 of 100 ranks"));
}

TEST(UnlikeRanksTest, SetsARankBesideOneOfItsHostAndTheMiddleOne) {
  const RankLikeness likeness = likenessOf(
      meeting(32, 40,
              [](int rank, std::uint32_t) { return More{rank == 17 || rank == 18 ? 4'000u : 0u}; }),
      8);
  EXPECT_EQ(likeness.neighbourOf(17), 16) << "18 is slow, too";
  EXPECT_EQ(likeness.neighbourOf(18), 19);
  EXPECT_EQ(likeness.neighbourOf(99), std::nullopt);
  const std::vector<int> besides = likeness.besides(17);
  ASSERT_GE(besides.size(), 2u);
  EXPECT_EQ(besides[0], 17);
  EXPECT_EQ(besides[1], 16);
  ASSERT_TRUE(likeness.middle);
  EXPECT_FALSE(likeness.isUnlike(*likeness.middle));
}

TEST(UnlikeRanksTest, ListsTheOutliersTheLargestFirst) {
  const RankLikeness likeness = likenessOf(meeting(16, 40, [](int rank, std::uint32_t) {
    return More{rank == 11 ? 4'000u : rank == 3 ? 9'000u : 0u};
  }));
  EXPECT_THAT(likeness.outliers(), ElementsAre(3, 11));
  EXPECT_TRUE(likenessOf(meeting(16, 40, nothing)).outliers().empty());
}

}  // namespace
}  // namespace lockstep::diagnosis

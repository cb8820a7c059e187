#include "engine/trace/UserPhases.h"

#include <gtest/gtest.h>

#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::trace {
namespace {

TEST(UserPhases, ANameHasOneNumberInEveryRun) {
  EXPECT_EQ(userPhaseNumber("tokenise"), userPhaseNumber("tokenise"));
  EXPECT_NE(userPhaseNumber("tokenise"), userPhaseNumber("tokenize"));
  // FNV-1a of nothing, folded: the numbers stand in run files.
  EXPECT_EQ(userPhaseNumber(""), (0xCBF29CE484222325ull ^ 0xCBF2) & 0xFFFFFFFFFFFFull);
}

TEST(UserPhases, AReaderKnowsTheNamesOfTheRunItReads) {
  const TemporaryFolder folder;
  const std::uint64_t number = userPhaseNumber("tokenise ü");
  EXPECT_EQ(userPhaseName(number), "");
  auto writer = createRun(folder / "a.lockstep");
  RankInfo rank;
  rank.environment = {{kUserPhasePrefix + std::to_string(number), "tokenise ü"}};
  writer->setRank(rank);
  ASSERT_TRUE(writer->finish().ok());
  readAll(*openRun(folder / "a.lockstep"));
  EXPECT_EQ(userPhaseName(number), "tokenise ü");
}

TEST(UserPhases, ANameWithTheNumberOfAnotherIsLeftOut) {
  learnUserPhases({{kUserPhasePrefix + "77", "not of 77"}, {kUserPhasePrefix + "x", "no number"}});
  EXPECT_EQ(userPhaseName(77), "");
  EXPECT_EQ(userPhaseName(userPhaseNumber("not of 77")), "");
}

}  // namespace
}  // namespace lockstep::trace

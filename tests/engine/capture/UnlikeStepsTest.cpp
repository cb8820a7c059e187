#include "engine/capture/UnlikeSteps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace lockstep::capture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Steps of 10 ms that vary by 3 %, of which 6 ms compute and 2 ms are exposed.
class UnlikeStepsTest : public testing::Test {
 protected:
  std::vector<StepFigures> step(int ranks) {
    std::vector<StepFigures> figures;
    for (int rank = 0; rank < ranks; ++rank) {
      figures.push_back({rank, about(10e6), about(6e6), about(2e6)});
    }
    return figures;
  }

  /// What is said of `count` usual steps: how many of them are unlike.
  int usual(int ranks, int count) {
    int found = 0;
    for (int i = 0; i < count; ++i) {
      found += unlike.judge(step(ranks)).empty() ? 0 : 1;
    }
    return found;
  }

  UnlikeSteps unlike;

 private:
  double about(double value) { return value * std::normal_distribution<>(1, 0.03)(random_); }

  std::mt19937 random_{1};
};

TEST_F(UnlikeStepsTest, NoStepOfManyAlikeIsUnlike) {
  EXPECT_EQ(usual(256, 500), 0);
}

TEST_F(UnlikeStepsTest, TheLateRankIsNamedAndNotThoseThatWaitForIt) {
  usual(8, 100);
  std::vector<StepFigures> late = step(8);
  for (StepFigures& rank : late) {
    rank.duration += 5e6;
    (rank.rank == 3 ? rank.computing : rank.exposed) += 5e6;
  }
  EXPECT_THAT(unlike.judge(late), ElementsAre(3));
  EXPECT_THAT(unlike.judge(step(8)), IsEmpty()) << "and the next step is like the rest";
}

TEST_F(UnlikeStepsTest, AStepThatIsSlowOnAllRanksIsUnlikeOnAll) {
  usual(3, 100);
  std::vector<StepFigures> slow = step(3);
  for (StepFigures& rank : slow) {
    rank.duration += 5e6;
    rank.exposed += 5e6;
  }
  EXPECT_THAT(unlike.judge(slow), ElementsAre(0, 1, 2));
}

TEST_F(UnlikeStepsTest, ASingleRankIsComparedWithItself) {
  usual(1, 100);
  std::vector<StepFigures> slow = step(1);
  slow[0].duration *= 2;
  EXPECT_THAT(unlike.judge(slow), ElementsAre(0));
}

TEST_F(UnlikeStepsTest, OfTheFirstStepsNothingIsSaid) {
  std::vector<StepFigures> first = step(2);
  first[0].duration *= 100;
  EXPECT_THAT(unlike.judge(first), IsEmpty());
  usual(2, 8);
  EXPECT_THAT(unlike.judge(first), IsEmpty());
}

// Where one step in ten is an outlier, it is not one.
TEST_F(UnlikeStepsTest, OfARunThatAlwaysVariesOneStepInAHundredIsKept) {
  usual(2, 100);
  std::mt19937 random(2);
  std::exponential_distribution<> more(1.0);
  int found = 0;
  constexpr int kSteps = 5'000;
  for (int i = 0; i < kSteps; ++i) {
    std::vector<StepFigures> figures = step(2);
    if (i % 10 == 0) {
      figures[0].duration += 30e6 * more(random);
    }
    found += unlike.judge(figures).empty() ? 0 : 1;
  }
  EXPECT_GT(found, kSteps / 200);
  EXPECT_LT(found, kSteps / 50);
}

}  // namespace
}  // namespace lockstep::capture

#include "ui/views/divergence/HeatRuns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ui/views/divergence/DivergentRun.h"

namespace lockstep::ui {
namespace {

using testing::ElementsAre;

// Samples at 0, 10, ..., 70; parameter 1 differs in that at 50.
class HeatRunsTest : public testing::Test {
 protected:
  HeatRow row(std::size_t first, std::size_t behind) const {
    return {facts_->hashes, facts_->divergence.replicas.steps, {first, behind}};
  }

  std::shared_ptr<const DivergenceFacts> facts_ = test::factsOfRun(test::replicas(8, 3, 5, 1));
};

TEST_F(HeatRunsTest, FromTheLastEqualSampleToTheFirstUnlikeOneNothingIsKnown) {
  const HeatRun equal{0, 41, HeatPyramid::kEqual};
  const HeatRun between{41, 50, kBetweenSamples};
  const HeatRun differs{50, 60, HeatPyramid::kMost};
  const HeatRun again{60, 80, HeatPyramid::kEqual};
  EXPECT_THAT(row(1, 2).runs(0, 0, 80), ElementsAre(equal, between, differs, again));
  EXPECT_THAT(row(0, 3).runs(0, 0, 80), ElementsAre(equal, between, differs, again))
      << "of several";
}

TEST_F(HeatRunsTest, EqualSamplesAreOneStretch) {
  EXPECT_THAT(row(0, 1).runs(0, 0, 80), ElementsAre(HeatRun{0, 80, HeatPyramid::kEqual}));
  EXPECT_THAT(row(0, 1).runs(2, 25, 45), ElementsAre(HeatRun{0, 80, HeatPyramid::kEqual}));
}

// In blocks of 2 the samples at 40 and 50 are one, which differs; in the one before it both are
// equal, and so is what comes next.
TEST_F(HeatRunsTest, AFoldedBlockThatDiffersHidesWhenAndNotThat) {
  EXPECT_THAT(row(1, 2).runs(1, 0, 80),
              ElementsAre(HeatRun{0, 40, HeatPyramid::kEqual}, HeatRun{40, 60, HeatPyramid::kMost},
                          HeatRun{60, 80, HeatPyramid::kEqual}));
}

TEST_F(HeatRunsTest, AStepLiesBetweenSamplesOnlyBehindTheIterationThatWasSampled) {
  EXPECT_FALSE(row(1, 2).isBetween(35)) << "equal on either side";
  EXPECT_FALSE(row(1, 2).isBetween(40.5)) << "the sample itself";
  EXPECT_TRUE(row(1, 2).isBetween(41));
  EXPECT_TRUE(row(1, 2).isBetween(49.9));
  EXPECT_FALSE(row(1, 2).isBetween(50));
  EXPECT_FALSE(row(1, 2).isBetween(75));
  EXPECT_FALSE(row(0, 1).isBetween(45)) << "another parameter";
}

}  // namespace
}  // namespace lockstep::ui

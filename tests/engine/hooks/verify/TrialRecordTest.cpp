#include "engine/hooks/verify/TrialRecord.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/hooks/verify/TrialModel.h"

namespace lockstep::hooks {
namespace {

TEST(TrialRecord, NamesTheFirstResultThatIsNotThatOfRank0) {
  TrialRecord record(3);
  for (int rank = 0; rank < 3; ++rank) {
    record.of(rank).keep(4, {at::ones({2}), at::ones({3})});
    record.of(rank).keep(5, {at::ones({2}), rank == 2 ? at::zeros({3}) : at::ones({3})});
  }
  EXPECT_EQ(record.differenceBetweenRanks(), "rank 2: bucket 1 of step 5");
  record.of(2).keep(5, {at::ones({2}), at::ones({3})});
  EXPECT_EQ(record.differenceBetweenRanks(), std::nullopt);
}

TEST(TrialRecord, TellsPlusZeroFromMinusZero) {
  TrialRecord record(2);
  record.of(0).keep(0, {at::zeros({1})});
  record.of(1).keep(0, {at::zeros({1}).neg()});
  EXPECT_EQ(record.differenceBetweenRanks(), "rank 1: bucket 0 of step 0");
}

TEST(TrialRecord, ComparesWithAnotherFromAStepOn) {
  TrialRecord one(1);
  TrialRecord other(1);
  one.of(0).keep(1, {at::ones({2})});
  other.of(0).keep(1, {at::zeros({2})});
  one.of(0).keep(2, {at::ones({2})});
  other.of(0).keep(2, {at::ones({2})});
  EXPECT_EQ(one.differenceFrom(other, 1), "rank 0: bucket 0 of step 1");
  EXPECT_EQ(one.differenceFrom(other, 2), std::nullopt);
  one.of(0).trained = {at::ones({2}), at::ones({2})};
  other.of(0).trained = {at::ones({2}), at::zeros({2})};
  EXPECT_EQ(one.differenceFrom(other, 2), "rank 0: parameter 1");
}

TEST(TrialRecord, MeasuresTheLargestErrorInUnitsOfTheMeansRootMeanSquare) {
  TrialRecord record(2);
  const at::Tensor mean = at::full({4}, 2.0, at::kDouble);
  record.of(1).compare({0, 1, 1}, at::tensor({2.0F, 2.0F, 3.0F, 2.0F}), mean);
  record.of(0).compare({7, 0, 0}, at::tensor({6.0F, 2.0F, 2.0F, 2.0F}), mean);
  EXPECT_EQ(record.farthestFromMean(false).error, 0.5) << "step 7 has a history";
  EXPECT_EQ(record.farthestFromMean(false).at.bucket, 1U);
  EXPECT_EQ(record.farthestFromMean(true).error, 2);
  EXPECT_EQ(record.farthestFromMean(true).at.step, 7U);
}

TEST(TrialRecord, TakesTheMedianOfTheSlowestRank) {
  TrialRecord record(2);
  record.of(0).stepTimes = {std::chrono::milliseconds(1), std::chrono::milliseconds(1),
                            std::chrono::milliseconds(90)};
  record.of(1).stepTimes = {std::chrono::milliseconds(4), std::chrono::milliseconds(2),
                            std::chrono::milliseconds(3)};
  EXPECT_EQ(record.medianMs(&RankRecord::stepTimes), 3);
  EXPECT_EQ(record.medianMs(&RankRecord::allreduceTimes), 0);
}

TEST(TrialModel, HasTheSameGradientsInBothLayouts) {
  const TrialModel model(at::kFloat);
  std::vector<at::Tensor> parts(model.names().size());
  for (const std::uint32_t layout : {0U, 1U}) {
    for (const auto& bucket : TrialModel::buckets(layout)) {
      const at::Tensor flat = model.gradients(bucket, 1, 5);
      const auto places = model.places(bucket);
      for (std::size_t i = 0; i < bucket.size(); ++i) {
        const at::Tensor part = flat.narrow(0, places.offsets[i], places.lengths[i]);
        at::Tensor& known = parts.at(bucket[i]);
        EXPECT_TRUE(!known.defined() || at::equal(known, part)) << model.names()[bucket[i]];
        known = part;
      }
    }
  }
  for (const at::Tensor& part : parts) {
    EXPECT_TRUE(part.defined());
  }
}

}  // namespace
}  // namespace lockstep::hooks

#include "engine/train/BatchStream.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::train {
namespace {

/// A set whose sample i is the number i.
class Numbers : public Dataset {
 public:
  explicit Numbers(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  const DataShape& shape() const override { return shape_; }
  Batch batch(at::IntArrayRef indices) const override {
    return {at::tensor(indices, at::kLong), at::tensor(indices, at::kLong)};
  }

 private:
  std::int64_t size_;
  DataShape shape_{{}, c10::kLong, 2};
};

DistributedSampler::Options sampling(std::int64_t samples, bool shuffle) {
  DistributedSampler::Options options;
  options.samples = samples;
  options.worldSize = 2;
  options.shuffle = shuffle;
  return options;
}

std::vector<std::int64_t> values(const Batch& batch) {
  return {batch.input.data_ptr<std::int64_t>(),
          batch.input.data_ptr<std::int64_t>() + batch.input.numel()};
}

TEST(BatchStream, EndsAnEpochWithASmallerBatchAndBeginsTheNext) {
  BatchStream stream(std::make_shared<Numbers>(10), sampling(10, false), 3);
  EXPECT_EQ(stream.stepsPerEpoch(), 2);
  EXPECT_THAT(values(stream.next()), testing::ElementsAre(0, 2, 4));
  EXPECT_EQ(stream.epoch(), 0);
  EXPECT_EQ(stream.samples(), 6);
  EXPECT_THAT(values(stream.next()), testing::ElementsAre(6, 8));
  EXPECT_EQ(stream.epoch(), 1);
  EXPECT_EQ(stream.samples(), 0);
  EXPECT_THAT(values(stream.next()), testing::ElementsAre(0, 2, 4));
}

TEST(BatchStream, ShufflesEachEpochAnew) {
  BatchStream stream(std::make_shared<Numbers>(100), sampling(100, true), 50);
  const auto first = values(stream.next());
  EXPECT_NE(first, values(stream.next()));
}

TEST(BatchStream, GoesOnWhereAnotherStopped) {
  BatchStream one(std::make_shared<Numbers>(21), sampling(21, true), 4);
  for (int step = 0; step < 10; ++step) {
    BatchStream other(std::make_shared<Numbers>(21), sampling(21, true), 4);
    other.seek(one.epoch(), one.samples());
    const auto expected = values(one.next());
    EXPECT_EQ(values(other.next()), expected) << "after " << step << " steps";
  }
}

TEST(BatchStream, FindsItsPlaceWithAnotherBatchSize) {
  BatchStream one(std::make_shared<Numbers>(40), sampling(40, false), 4);
  one.next();
  one.next();
  BatchStream other(std::make_shared<Numbers>(40), sampling(40, false), 8);
  other.seek(one.epoch(), one.samples());
  EXPECT_EQ(values(other.next()).front(), 16);
}

}  // namespace
}  // namespace lockstep::train

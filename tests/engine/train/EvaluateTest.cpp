#include "engine/train/Evaluate.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::train {
namespace {

/// 11 samples; sample i has the value i and the label i % 3.
class Elevens : public Dataset {
 public:
  std::int64_t size() const override { return 11; }
  const DataShape& shape() const override { return shape_; }
  Batch batch(at::IntArrayRef indices) const override {
    const at::Tensor numbers = at::tensor(indices, at::kLong);
    return {numbers.to(at::kFloat), numbers.remainder(3)};
  }

 private:
  DataShape shape_{{}, c10::kFloat, 3};
};

/// Is sure of label 0, always; remembers whether it was evaluated in training mode.
class AlwaysZero : public Model {
 public:
  at::Tensor forward(at::Tensor input) override {
    trainedDuringForward = trainedDuringForward || is_training();
    samples += input.numel();
    return at::tensor({5.0f, 0.0f, 0.0f}).repeat({input.numel(), 1});
  }
  bool trainedDuringForward = false;
  std::int64_t samples = 0;
};

TEST(Evaluate, CountsEverySampleOnceWhateverTheNumberOfRanks) {
  for (int world : {1, 2, 3}) {
    const auto store = std::make_shared<store::HashStore>();
    std::atomic<std::int64_t> seen{0};
    support::runRanks(world, [&](int rank) {
      const auto group = process_group::makeProcessGroup("gloo", store, rank, world).value();
      AlwaysZero model;
      const auto result = evaluate(model, Elevens(), *group, 2, 17);
      seen += model.samples;
      EXPECT_EQ(result.step, 17u);
      EXPECT_EQ(result.samples, 11u);
      EXPECT_DOUBLE_EQ(result.accuracy, 4.0 / 11);  // 0, 3, 6, 9
      const double right = std::log(1 + 2 * std::exp(-5.0));
      EXPECT_NEAR(result.loss, (4 * right + 7 * (right + 5)) / 11, 1e-6);
      EXPECT_FALSE(model.trainedDuringForward);
      EXPECT_TRUE(model.is_training());
    });
    EXPECT_EQ(seen.load(), 11) << world << " ranks";
  }
}

}  // namespace
}  // namespace lockstep::train

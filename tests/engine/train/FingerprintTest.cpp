#include "engine/trace/Event.h"
#include "engine/train/Fingerprint.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/Xxh64.h"
#include "tests/support/RankRecording.h"

namespace lockstep::train {
namespace {

using testing::ElementsAre;

std::vector<ddp::NamedTensor> parameters() {
  return {{"weight", at::arange(6, at::kFloat).view({2, 3})}, {"bias", at::full({5000}, 2.0f)}};
}

/// The sampledSteps of the samples that came.
std::vector<std::uint32_t> sampledSteps(support::RankRecording& recording) {
  std::vector<std::uint32_t> found;
  for (const trace::Message& message : recording.messages()) {
    found.push_back(std::get<trace::FingerprintMessage>(message).step);
  }
  return found;
}

TEST(FingerprintTest, HashesAreXxh64OfTheBytesAndNormsAreEuclidean) {
  const auto all = parameters();
  const auto message = fingerprintOf(all, 7);
  EXPECT_EQ(message.step, 7u);
  ASSERT_EQ(message.hashes.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    base::Xxh64 hash;
    hash.update(all[i].tensor.data_ptr(), all[i].tensor.nbytes());
    EXPECT_EQ(message.hashes[i], hash.digest());
  }
  EXPECT_DOUBLE_EQ(message.norms[0], std::sqrt(55.0));  // 1 + 4 + 9 + 16 + 25
  EXPECT_DOUBLE_EQ(message.norms[1], std::sqrt(20'000.0));
}

TEST(FingerprintTest, OneFlippedBitChangesOneHashAndTheSketchByItsSize) {
  auto all = parameters();
  const auto before = fingerprintOf(all, 0);
  all[1].tensor[4321] = 3.0f;
  const auto after = fingerprintOf(all, 0);
  EXPECT_EQ(after.hashes[0], before.hashes[0]);
  EXPECT_NE(after.hashes[1], before.hashes[1]);
  double squares = 0;
  for (std::size_t i = 0; i < after.sketch.size(); ++i) {
    squares += std::pow(after.sketch[i] - before.sketch[i], 2);
  }
  EXPECT_NEAR(std::sqrt(squares), 1, 1e-9);
}

TEST(FingerprintTest, DoesNotDependOnStrides) {
  const at::Tensor rows = at::arange(6, at::kFloat).view({2, 3});
  const auto one = fingerprintOf({{"a", rows}}, 0);
  const auto other = fingerprintOf({{"a", rows.t().contiguous().t()}}, 0);
  EXPECT_EQ(one.hashes, other.hashes);
  EXPECT_EQ(one.sketch, other.sketch);
}

TEST(FingerprintTest, TakesEveryTypeOfParameter) {
  for (const at::ScalarType type :
       {at::kDouble, at::kHalf, at::kBFloat16, at::kComplexFloat, at::kComplexDouble}) {
    const auto message = fingerprintOf({{"a", at::full({3, 3}, 2.0).to(type)}}, 0);
    EXPECT_DOUBLE_EQ(message.norms[0], 6) << type;
  }
}

TEST(FingerprintTest, IsTakenEverySoManySteps) {
  support::RankRecording recording;
  Fingerprint fingerprint(parameters(), 10, recording.tracer(), recording.tracer().lane("step"));
  for (std::uint32_t step = 0; step < 25; ++step) {
    fingerprint.before(step);
  }
  fingerprint.afterAll(25);
  EXPECT_THAT(sampledSteps(recording), ElementsAre(0, 10, 20, 25));
  const auto spans = recording.eventsOf(trace::EventKind::kFingerprint);
  ASSERT_EQ(spans.size(), 4u) << "the cost of each is a span";
  EXPECT_EQ(spans[0].value, 6 * 4 + 5000 * 4u);
}

TEST(FingerprintTest, IsNeverTakenWhenTurnedOffOrWithoutACapture) {
  support::RankRecording recording;
  trace::Lane& lane = recording.tracer().lane("step");
  Fingerprint off(parameters(), 0, recording.tracer(), lane);
  off.before(0);
  off.afterAll(10);
  recording.segment().header().captureEnabled.store(0);
  Fingerprint unseen(parameters(), 1, recording.tracer(), lane);
  unseen.before(0);
  EXPECT_TRUE(sampledSteps(recording).empty());
}

}  // namespace
}  // namespace lockstep::train

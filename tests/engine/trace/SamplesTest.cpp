// Samples of parameters and gradients: from a rank's message to the reader of the run file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/trace/DivergenceWatch.h"
#include "engine/trace/Messages.h"
#include "engine/trace/ReplicaWatch.h"
#include "tests/engine/trace/Recording.h"

namespace lockstep::trace {
namespace {

using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

FingerprintMessage fingerprint() {
  return {60, {0xFFFF'FFFF'FFFF'FFFF, 7}, {2.5, std::nan("")}, {-0.1, 1e300}};
}

GradientsMessage gradients() {
  return {60,
          {{0, 3, 2, 0, 0, {}, {{2.5, 0xFFFF'FFFF'FFFF'FFFE}}},
           {1, 3, 2, 0, 0, {}, {{2.5, {}}}},
           {kNoBucket, 4, 1.5, 2, 1, 9u}}};
}

TEST(SamplesTest, MessagesKeepEveryBit) {
  const auto decoded = std::get<FingerprintMessage>(messageFromJson(toJson(fingerprint())).value());
  EXPECT_EQ(decoded.step, 60);
  EXPECT_EQ(decoded.hashes, fingerprint().hashes);
  EXPECT_EQ(decoded.norms[0], 2.5);
  EXPECT_TRUE(std::isnan(decoded.norms[1]));
  EXPECT_EQ(decoded.sketch, fingerprint().sketch);
  GradientsMessage sent = gradients();
  sent.buckets[0].norm = kInfinity;
  const auto received = std::get<GradientsMessage>(messageFromJson(toJson(sent)).value());
  EXPECT_EQ(received.step, 60);
  EXPECT_EQ(received.buckets, sent.buckets);
}

TEST(SamplesTest, AMessageWithHalfANumberIsRefused) {
  const auto message =
      messageFromJson(R"({"type":"fingerprint","step":1,"hashes":"00ff","norms":"","sketch":""})");
  ASSERT_FALSE(message.ok());
  EXPECT_NE(message.error().message().find("16 hex digits"), std::string::npos);
}

TEST(SamplesTest, ReachTheReaderThroughTheRecorder) {
  Recording recording(2);
  recording.rank(1).send(toJson(fingerprint()));
  recording.rank(1).send(toJson(gradients()));
  const RunUpdate run = recording.finish();

  ASSERT_EQ(run.fingerprints.size(), 2);
  EXPECT_EQ(run.fingerprints[0].rank, 1);
  EXPECT_EQ(run.fingerprints[0].step, 60);
  EXPECT_EQ(run.fingerprints[0].hash, 0xFFFF'FFFF'FFFF'FFFF);
  EXPECT_EQ(run.fingerprints[0].norm, 2.5);
  EXPECT_EQ(run.fingerprints[1].parameter, 1);
  EXPECT_TRUE(std::isnan(run.fingerprints[1].norm));
  ASSERT_EQ(run.sketches.size(), 1);
  EXPECT_EQ(run.sketches[0].rank, 1);
  EXPECT_THAT(run.sketches[0].counters, ElementsAre(-0.1, 1e300));
  ASSERT_EQ(run.gradients.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(run.gradients[i].gradients, gradients().buckets[i]);
  }
  EXPECT_TRUE(run.spans.empty()) << "samples are no spans";
  ASSERT_EQ(valuesOf(run, "gradient_norm", 1).size(), 1);
  EXPECT_TRUE(std::isnan(valuesOf(run, "gradient_norm", 1)[0])) << "of a gradient with NaNs";
}

TEST(SamplesTest, AFiniteGradientNormIsThatOfAllBuckets) {
  Recording recording(1);
  recording.rank(0).send(toJson(GradientsMessage{1, {{0, 3, 2, 0, 0, {}}, {1, 4, 1, 0, 0, {}}}}));
  EXPECT_THAT(valuesOf(recording.finish(), "gradient_norm"), ElementsAre(5));
}

TEST(SamplesTest, ALiveReaderIsGivenEachRowOnce) {
  Recording recording(1);
  recording.rank(0).send(toJson(fingerprint()));
  std::size_t rows = 0;
  const auto count = [&rows](const RunUpdate& update) {
    rows += update.fingerprints.size();
    return rows >= 2;
  };
  ASSERT_TRUE(recording.waitUntil(count));
  recording.rank(0).send(toJson(fingerprint()));
  ASSERT_TRUE(
      recording.waitUntil([&](const RunUpdate& update) { return count(update) && rows > 2; }));
  EXPECT_EQ(rows, 4);
  (void)recording.finish();
}

FingerprintMessage sample(std::uint32_t step, std::vector<std::uint64_t> hashes) {
  std::vector<double> norms(hashes.size(), 1);
  return {step, std::move(hashes), std::move(norms), {}};
}

TEST(SamplesTest, TheFirstDifferenceIsAProblemOnce) {
  Recording recording(3);
  recording.rank(0).send(
      toJson(ParametersMessage{{{"a", {1}, "float32", 1, 4}, {"b", {1}, "float32", 1, 4}}}));
  for (int rank = 0; rank < 3; ++rank) {
    Tracer& tracer = recording.rank(rank);
    tracer.send(toJson(sample(10, {1, 2})));
    tracer.send(toJson(sample(20, {1, rank == 1 ? 9u : 2u})));
    tracer.send(toJson(sample(30, {1, rank == 1 ? 9u : 2u})));
  }
  const RunUpdate run = recording.finish();
  ASSERT_EQ(run.problems.size(), 1);
  EXPECT_EQ(run.problems[0].severity, "error");
  EXPECT_EQ(run.problems[0].rank, 1);
  EXPECT_EQ(run.problems[0].step, 20);
  EXPECT_EQ(run.problems[0].text,
            "the replicas differ at step 20: b of rank 1 is not what the other ranks hold; at step "
            "10 all were equal");
}

TEST(SamplesTest, OfTwoRanksEitherMayBeWrong) {
  ReplicaWatch watch(2);
  EXPECT_FALSE(watch.add(1, sample(0, {1, 3})).has_value()) << "rank 0's sample is not there";
  const auto difference = watch.add(0, sample(0, {1, 2}));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->text,
            "the replicas differ at step 0: parameter 1 of rank 1 is not what rank 0 holds; either "
            "may be wrong");
}

TEST(SamplesTest, AMajorityIsNotClaimedWhereThereIsNone) {
  ReplicaWatch watch(3);
  EXPECT_FALSE(watch.add(0, sample(0, {1, 2})).has_value());
  EXPECT_FALSE(watch.add(1, sample(0, {3, 4})).has_value());
  const auto difference = watch.add(2, sample(0, {5, 6}));
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->text,
            "the replicas differ at step 0: parameter 0 of ranks 1, 2 is not what the others hold, "
            "with no majority to tell who is right; 2 of 2 parameters differ");
}

TEST(SamplesTest, AHookMayHaveForgottenToSayThatItsReplicasDrift) {
  ReplicaWatch watch(2);
  watch.setPlugin("gossip");
  EXPECT_FALSE(watch.add(0, sample(0, {1, 2})).has_value());
  EXPECT_EQ(watch.add(1, sample(0, {3, 4}))->text,
            "the replicas differ at step 0: parameter 0 of rank 1 is not what rank 0 holds; either "
            "may be wrong; 2 of 2 parameters differ. If hook 'gossip' lets them drift by design, "
            "it has to say so (lockstep.replicas/1)");
}

// A job of PyTorch names its hook, too, and that one cannot say so.
TEST(SamplesTest, AHookOfAJobOfPyTorchIsNotToldWhatOnlyAPluginCanSay) {
  for (const RunKind kind : {RunKind::kObserved, RunKind::kExperiment}) {
    Recording recording(2);
    recording->updateInfo([kind](RunInfo& info) { info.kind = kind; });
    for (int rank = 0; rank < 2; ++rank) {
      recording.rank(rank).send(toJson(EnvironmentMessage{{{kHook, "fp16_compress_hook"}}}));
      const auto own = static_cast<std::uint64_t>(rank);
      recording.rank(rank).send(toJson(sample(10, {own, 10 + own})));
    }
    const RunUpdate run = recording.finish();
    ASSERT_EQ(run.problems.size(), 1);
    EXPECT_EQ(run.problems[0].text.find("it has to say so") != std::string::npos,
              kind == RunKind::kExperiment);
  }
}

TEST(SamplesTest, SamplesThatARankNeverCompletesArePassedOver) {
  ReplicaWatch watch(2);
  for (std::uint32_t step = 0; step < 1'000; ++step) {
    EXPECT_FALSE(watch.add(0, sample(step, {1})).has_value());
  }
  EXPECT_TRUE(watch.add(1, sample(999, {2})).has_value());
}

TEST(SamplesTest, SqlNamesTheParametersThatDiffer) {
  TemporaryFolder folder;
  const auto path = folder / "r.lockstep";
  auto writer = createRun(path);
  writer->setParameters({{{"a", {1}, "float32", 1, 4}, {"b", {1}, "float32", 1, 4}}});
  writer->addFingerprint(0, {10, {1, 2}, {0, 0}, {}});
  writer->addFingerprint(1, {10, {1, 3}, {0, 0}, {}});
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(query(path, "SELECT * FROM parameters_differ"), "10|b|2");
}

}  // namespace
}  // namespace lockstep::trace

#include "engine/trace/Event.h"
#include "engine/train/TrainLoop.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/HashStore.h"
#include "engine/train/DdpOptionsOf.h"
#include "engine/train/Fingerprint.h"
#include "engine/train/MakeOptimizer.h"
#include "engine/train/Safetensors.h"
#include "engine/train/models/MakeModel.h"
#include "tests/engine/process_group/nccl/FakePlatform.h"
#include "tests/support/RankThreads.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using trace::EventKind;

struct RankEnd {
  TrainOutcome outcome;
  std::string hash;
  std::vector<trace::Event> events;  ///< of the lane "step"
  std::string messages;              ///< as they stand in the ring

  [[nodiscard]] std::vector<double> losses() const {
    std::vector<double> losses;
    for (const auto& event : events) {
      if (event.kind == static_cast<std::uint16_t>(EventKind::kLoss)) {
        losses.push_back(std::bit_cast<double>(event.value));
      }
    }
    return losses;
  }
  /// The parameters' hashes of each fingerprint, as text.
  [[nodiscard]] std::vector<std::string> fingerprints() const {
    static const std::regex hashes(R"re("hashes":"([^"]*)")re");
    std::vector<std::string> found;
    for (std::sregex_iterator at(messages.begin(), messages.end(), hashes), none; at != none; ++at) {
      found.push_back((*at)[1]);
    }
    return found;
  }
  [[nodiscard]] std::map<EventKind, int> counts() const {
    std::map<EventKind, int> counts;
    for (const auto& event : events) {
      ++counts[static_cast<EventKind>(event.kind)];
    }
    return counts;
  }
};

experiment::Experiment smallExperiment() {
  experiment::Experiment experiment;
  experiment.model.layers = {20, 16, 4};
  experiment.data.kind = "synthetic";
  experiment.data.samples = 100;
  experiment.data.batchSize = 8;
  experiment.optimizer.learningRate = 0.1;
  experiment.train.steps = 10;
  experiment.train.evaluateAtEnd = false;
  experiment.train.seed = 3;
  experiment.capture.fingerprintEvery = 0;
  return experiment;
}

/// Trains with `world` ranks as threads over Gloo; `before` is called before the loop runs.
std::vector<RankEnd> train(const experiment::Experiment& experiment, int world,
                           const std::atomic<bool>& stop = std::atomic<bool>{false},
                           const std::function<void(int rank, Model& model)>& before = nullptr,
                           device::DeviceSpans* deviceSpans = nullptr) {
  auto store = std::make_shared<store::HashStore>(std::chrono::seconds(20));
  std::vector<RankEnd> ends(static_cast<std::size_t>(world));
  support::runRanks(world, [&](int rank) {
    trace::SegmentOptions segmentOptions;
    segmentOptions.eventsPerLane = 1 << 12;
    trace::Segment segment = trace::Segment::create(segmentOptions).value();
    segment.header().captureEnabled.store(1);
    const trace::SegmentHeader& whole = segment.header();
    const char* messages = segment.messageRing();
    const trace::LaneHeader& header = segment.lane(0);
    const trace::Event* events = segment.events(0);
    trace::Tracer tracer(std::move(segment));
    trace::Lane& lane = tracer.lane("step");

    process_group::GroupOptions options;
    options.timeout = std::chrono::seconds(20);
    auto group = process_group::makeProcessGroup("gloo", store, rank, world, options);
    ASSERT_TRUE(group.ok()) << group.error().message();
    const Datasets datasets = makeDatasets(experiment).value();
    const auto model = makeModel(experiment.model, datasets.train->shape()).value();
    const auto optimizer = makeOptimizer(experiment.optimizer, model->parameters()).value();
    // A start that does not depend on which rank's thread comes first.
    {
      at::NoGradGuard noGrad;
      auto generator = at::detail::createCPUGenerator(5);
      for (auto& parameter : model->parameters()) {
        parameter.copy_(at::randn(parameter.sizes(), generator, at::TensorOptions()) * 0.3);
      }
    }
    Position position;
    const bool resumes = !experiment.train.resumeFrom.empty();
    if (resumes) {
      auto loaded = loadCheckpoint(experiment.train.resumeFrom, *model, *optimizer);
      ASSERT_TRUE(loaded.ok()) << loaded.error().message();
      position = loaded.value();
    }
    ddp::DistributedDataParallel ddp(model, group.value(), ddpOptionsOf(experiment.ddp));
    DdpStrategy strategy(*model, ddp);
    Fingerprint fingerprint(ddp.parameters(), experiment.capture.fingerprintEvery, tracer, lane);
    TrainParts parts{experiment, *model, strategy, *optimizer, datasets, *group.value(), *store,
                     tracer, lane, stop};
    parts.fingerprint = &fingerprint;
    parts.deviceSpans = deviceSpans;
    TrainLoop loop(parts);
    if (resumes) {
      const auto resumed = loop.resume(position);
      ASSERT_TRUE(resumed.ok()) << resumed.error().message();
    }
    if (before) {
      before(rank, *model);
    }
    auto outcome = loop.run();
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    if (deviceSpans != nullptr) {
      deviceSpans->finish();
    }
    RankEnd& end = ends[static_cast<std::size_t>(rank)];
    end.outcome = outcome.value();
    end.hash = parameterHash(*model);
    end.events.assign(events, events + header.head.load());
    end.messages.assign(messages, whole.messageHead.load());
  });
  return ends;
}

TEST(TrainLoop, LowersTheLossAndLeavesAllReplicasEqual) {
  auto experiment = smallExperiment();
  experiment.train.steps = 60;
  const auto ends = train(experiment, 2);
  EXPECT_EQ(ends[0].outcome.steps, 60);
  EXPECT_EQ(ends[0].hash, ends[1].hash);
  EXPECT_NE(ends[0].losses(), ends[1].losses()) << "both ranks had the same data";
  EXPECT_LT(ends[0].outcome.loss, 0.3 * ends[0].losses().front());
}

TEST(TrainLoop, EmitsThePhasesOfEveryStepNestedInIt) {
  auto experiment = smallExperiment();
  experiment.train.evaluateEvery = 5;
  const auto end = train(experiment, 1).front();
  const auto counts = end.counts();
  for (const auto kind : {EventKind::kStep, EventKind::kData, EventKind::kForward,
                          EventKind::kBackward, EventKind::kOptimizer, EventKind::kLoss}) {
    EXPECT_EQ(counts.at(kind), 10) << trace::name(kind);
  }
  EXPECT_EQ(counts.at(EventKind::kEvaluate), 2);
  std::map<std::uint32_t, trace::Event> steps;
  for (const auto& event : end.events) {
    if (event.kind == static_cast<std::uint16_t>(EventKind::kStep)) {
      steps[event.step] = event;
    }
  }
  EXPECT_EQ(steps.begin()->first, 0u);
  EXPECT_EQ(steps.rbegin()->first, 9u);
  for (const auto& event : end.events) {
    const auto kind = static_cast<EventKind>(event.kind);
    if (kind == EventKind::kStep || kind == EventKind::kEvaluate) continue;
    if (kind == EventKind::kOffCore) continue;  // since the look before, whatever has begun since
    const auto& step = steps.at(event.step);
    EXPECT_GE(event.startTicks, step.startTicks);
    EXPECT_LE(event.startTicks + event.durationTicks, step.startTicks + step.durationTicks);
  }
}

TEST(TrainLoop, TellsThePhasesThatComputeByTheDevicesClock) {
  namespace nccl = process_group::nccl;
  const nccl::FakeFabric fabric;
  nccl::FakeDeviceOptions device;
  device.clockOffsetNs = 123'456'789'012;
  const nccl::FakePlatform platform(fabric, device);
  device::DeviceSpans spans(platform.device());
  const auto end = train(smallExperiment(), 1, std::atomic<bool>{false}, nullptr, &spans).front();
  const auto counts = end.counts();
  for (const auto kind : {EventKind::kStep, EventKind::kData, EventKind::kForward,
                          EventKind::kBackward, EventKind::kOptimizer}) {
    EXPECT_EQ(counts.at(kind), 10) << trace::name(kind) << ": once, by one clock";
  }
  std::map<std::pair<std::uint32_t, EventKind>, trace::Event> found;
  for (const auto& event : end.events) {
    found[{event.step, static_cast<EventKind>(event.kind)}] = event;
  }
  const auto ended = [](const trace::Event& event) {
    return event.startTicks + event.durationTicks;
  };
  for (std::uint32_t step = 0; step < 10; ++step) {
    const auto& forward = found.at({step, EventKind::kForward});
    const auto& backward = found.at({step, EventKind::kBackward});
    EXPECT_GT(forward.durationTicks, 0u);
    EXPECT_LE(ended(forward), backward.startTicks);
    EXPECT_LE(ended(backward), found.at({step, EventKind::kOptimizer}).startTicks);
    constexpr std::uint64_t slack = 40'000'000;  // as a thread of the double takes to wake
    EXPECT_GE(forward.startTicks + slack, found.at({step, EventKind::kStep}).startTicks);
    EXPECT_LE(ended(backward), ended(found.at({step, EventKind::kStep})) + slack);
  }
}

class ResumedRun : public testing::TestWithParam<std::tuple<const char*, bool, int>> {};

TEST_P(ResumedRun, EqualsAnUninterruptedOneBitForBit) {
  const auto [optimizer, view, syncEvery] = GetParam();
  const TemporaryFolder folder;
  auto experiment = smallExperiment();
  experiment.optimizer.kind = optimizer;
  experiment.optimizer.learningRate = 0.05;
  experiment.ddp.gradientAsBucketView = view;
  experiment.ddp.syncEvery = syncEvery;
  experiment.data.samples = 60;  // an epoch ends within the first half
  experiment.train.steps = 12;
  const auto whole = train(experiment, 2);

  experiment.train.steps = 6;
  experiment.train.checkpoint = folder / "half.safetensors";
  const auto half = train(experiment, 2);
  experiment.train.steps = 12;
  experiment.train.resumeFrom = experiment.train.checkpoint;
  experiment.train.checkpoint.clear();
  const auto rest = train(experiment, 2);

  EXPECT_EQ(rest[0].outcome.steps, 12);
  EXPECT_EQ(rest[0].hash, whole[0].hash);
  EXPECT_EQ(rest[1].hash, whole[0].hash);
  EXPECT_NE(half[0].hash, whole[0].hash);
  auto losses = half[1].losses();
  const auto second = rest[1].losses();
  losses.insert(losses.end(), second.begin(), second.end());
  EXPECT_EQ(losses, whole[1].losses());
}

INSTANTIATE_TEST_SUITE_P(Kinds, ResumedRun,
                         testing::Values(std::tuple("sgd", false, 1), std::tuple("sgd", true, 1),
                                         std::tuple("adam", false, 1),
                                         std::tuple("adamw", false, 2)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "_view" : "") + "_sync_every_" +
                                  std::to_string(std::get<2>(info.param));
                         });

TEST(TrainLoop, WritesACheckpointEverySoManyStepsAndAtTheEnd) {
  const TemporaryFolder folder;
  auto experiment = smallExperiment();
  experiment.train.checkpoint = folder / "c.safetensors";
  experiment.train.checkpointEvery = 4;
  const auto ends = train(experiment, 2);
  EXPECT_EQ(ends[0].counts().at(EventKind::kCheckpoint), 3);  // after 4, 8 and 10 steps
  EXPECT_EQ(ends[1].counts().count(EventKind::kCheckpoint), 0u);
  EXPECT_EQ(readSafetensors(experiment.train.checkpoint).value().metadata.at("step"), "10");
}

TEST(TrainLoop, AccumulatesBetweenReductionsAndSynchronisesTheLastStep) {
  auto experiment = smallExperiment();
  experiment.ddp.syncEvery = 4;
  const auto ends = train(experiment, 2);
  EXPECT_EQ(ends[0].counts().at(EventKind::kOptimizer), 3);  // steps 4, 8 and 10
  EXPECT_EQ(ends[0].counts().at(EventKind::kLoss), 10);
  EXPECT_EQ(ends[0].hash, ends[1].hash);
}

TEST(TrainLoop, FingerprintsTheFullParametersInTheMidstOfAnAccumulation) {
  auto experiment = smallExperiment();
  experiment.ddp.syncEvery = 2;
  experiment.ddp.paramDtype = "bfloat16";
  experiment.capture.fingerprintEvery = 1;
  experiment.train.steps = 2;
  const auto hashes = train(experiment, 2)[0].fingerprints();
  ASSERT_EQ(hashes.size(), 3u);
  EXPECT_EQ(hashes[0], hashes[1]) << "between them no optimizer stepped";
  EXPECT_NE(hashes[1], hashes[2]);
}

TEST(TrainLoop, AccumulatingTwoStepsEqualsOneStepOfTwiceTheBatchAtTwiceTheRate) {
  auto experiment = smallExperiment();
  experiment.data.shuffle = false;
  experiment.optimizer.momentum = 0;
  experiment.train.steps = 2;
  experiment.ddp.syncEvery = 2;
  std::vector<at::Tensor> accumulated;
  std::vector<at::Tensor> atOnce;
  const auto keep = [](std::vector<at::Tensor>& into) {
    return [&into](int rank, Model& model) {
      if (rank == 0) into = model.parameters();
    };
  };
  const std::atomic<bool> never{false};
  train(experiment, 2, never, keep(accumulated));
  experiment.ddp.syncEvery = 1;
  experiment.data.batchSize = 16;
  experiment.optimizer.learningRate *= 2;
  experiment.train.steps = 1;
  train(experiment, 2, never, keep(atOnce));
  for (std::size_t i = 0; i < atOnce.size(); ++i) {
    EXPECT_TRUE(at::allclose(accumulated[i], atOnce[i], 1e-4, 1e-6)) << "parameter " << i;
  }
}

TEST(TrainLoop, StopsAllRanksAfterTheSameStepOnRequest) {
  auto experiment = smallExperiment();
  experiment.train.steps = 100000;
  experiment.train.evaluateAtEnd = true;
  const std::atomic<bool> stop{true};
  const auto ends = train(experiment, 3, stop);
  EXPECT_EQ(ends[0].counts().count(EventKind::kEvaluate), 0u) << "a stop must not take long";
  EXPECT_TRUE(ends[0].outcome.stopped);
  EXPECT_EQ(ends[0].outcome.steps, 1);
  EXPECT_EQ(ends[1].outcome.steps, 1);
  EXPECT_EQ(ends[2].outcome.steps, 1);
  EXPECT_EQ(ends[0].hash, ends[2].hash);
}

TEST(TrainLoop, ReportsALossThatIsNoNumberOnceAndTrainsOn) {
  auto experiment = smallExperiment();
  experiment.optimizer.learningRate = 1e30;
  const auto end = train(experiment, 1).front();
  EXPECT_EQ(end.outcome.steps, 10);
  EXPECT_FALSE(std::isfinite(end.outcome.loss));
  const std::string type = R"("type":"bad_loss")";
  const auto first = end.messages.find(type);
  ASSERT_NE(first, std::string::npos) << end.messages;
  EXPECT_EQ(end.messages.find(type, first + 1), std::string::npos);
  EXPECT_THAT(end.messages, testing::HasSubstr(R"("finite":1)"));
}

TEST(TrainLoop, SendsTheEvaluationFromRankZeroAlone) {
  auto experiment = smallExperiment();
  experiment.train.evaluateAtEnd = true;
  const auto ends = train(experiment, 2);
  EXPECT_THAT(ends[0].messages, testing::HasSubstr("accuracy"));
  EXPECT_THAT(ends[1].messages, testing::Not(testing::HasSubstr("accuracy")));
  EXPECT_EQ(ends[1].counts().at(EventKind::kEvaluate), 1);
}

TEST(TrainLoop, TrainsWholeEpochs) {
  auto experiment = smallExperiment();
  experiment.train.steps.reset();
  experiment.train.epochs = 3;
  // 100 samples over 2 ranks in batches of 8: 7 steps an epoch.
  EXPECT_EQ(train(experiment, 2)[0].outcome.steps, 21);
}

TEST(TrainLoop, RefusesACheckpointThatLeavesNothingToTrainOrHasAnotherSeed) {
  auto experiment = smallExperiment();
  experiment.train.resumeFrom = "half.safetensors";
  const auto store = std::make_shared<store::HashStore>();
  const auto group = process_group::makeProcessGroup("gloo", store, 0, 1).value();
  const Datasets datasets = makeDatasets(experiment).value();
  const auto model = makeModel(experiment.model, datasets.train->shape()).value();
  const auto optimizer = makeOptimizer(experiment.optimizer, model->parameters()).value();
  ddp::DistributedDataParallel ddp(model, group);
  trace::Tracer tracer;
  const std::atomic<bool> stop{false};
  DdpStrategy strategy(*model, ddp);
  TrainLoop loop({experiment, *model, strategy, *optimizer, datasets, *group, *store, tracer,
                  tracer.lane("step"), stop});
  EXPECT_EQ(loop.resume({10, 0, 0, 3}).error().message(),
            experiment.train.resumeFrom +
                ": stands at step 10 of 10: nothing is left to train; raise train.steps");
  EXPECT_THAT(loop.resume({5, 0, 0, 4}).error().message(),
              testing::HasSubstr("was written with train.seed = 4, this run has 3"));
}

}  // namespace
}  // namespace lockstep::train

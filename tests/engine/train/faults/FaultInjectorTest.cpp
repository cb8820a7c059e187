#include "engine/trace/Event.h"
#include "engine/train/faults/FaultInjector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "engine/base/Log.h"
#include "tests/support/RankRecording.h"

namespace lockstep::train {
namespace {

using experiment::Experiment;
using experiment::FaultConfig;
using testing::HasSubstr;
using trace::FaultKind;

/// A rank that records, and a model of two layers.
struct Rank {
  Rank() {
    for (const auto& named : model->named_parameters()) {
      parameters.push_back({named.key(), named.value()});
    }
  }

  std::vector<trace::Event> faults() { return recording.eventsOf(trace::EventKind::kFault); }

  void backward() { model->forward(torch::ones({1, 3})).sum().backward(); }

  support::RankRecording recording;
  torch::nn::Sequential model{torch::nn::Linear(3, 4), torch::nn::Linear(4, 2)};
  std::vector<ddp::NamedTensor> parameters;  // 0.weight 0.bias 1.weight 1.bias
};

Experiment with(FaultConfig fault) {
  Experiment experiment;
  experiment.train.seed = 3;
  experiment.faults = {std::move(fault)};
  return experiment;
}

FaultConfig delay(double milliseconds) {
  FaultConfig fault;
  fault.milliseconds = milliseconds;
  return fault;
}

bool is(const trace::Event& event, FaultKind kind) {
  return event.detail == static_cast<std::uint16_t>(kind);
}

TEST(FaultInjector, DelaysTheForwardInTheStepsAskedFor) {
  Rank rank;
  FaultConfig fault = delay(1);
  fault.from = 2;
  fault.to = 6;
  fault.every = 2;
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  ASSERT_TRUE(injector.watch(rank.parameters).ok());
  for (std::uint32_t step = 0; step < 10; ++step) {
    injector.beginStep(step);
    injector.inPhase("forward");
  }
  const auto events = rank.faults();
  ASSERT_EQ(events.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(is(events[i], FaultKind::kDelay));
    EXPECT_EQ(events[i].step, 2 + 2 * i);
    EXPECT_EQ(events[i].value, 1'000'000u);
    EXPECT_GT(events[i].durationTicks, 0u);
  }
}

TEST(FaultInjector, DelaysThePhaseThatItNames) {
  Rank rank;
  FaultConfig fault = delay(1);
  fault.phase = "data";
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  injector.beginStep(0);
  injector.inPhase("forward");
  injector.inPhase("optimizer");
  EXPECT_TRUE(rank.faults().empty());
  injector.inPhase("data");
  EXPECT_EQ(rank.faults().size(), 1u);
}

TEST(FaultInjector, LeavesOtherRanksAlone) {
  Rank rank;
  FaultConfig fault = delay(1000);
  fault.rank = 1;
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  injector.beginStep(0);
  injector.inPhase("forward");
  EXPECT_TRUE(rank.faults().empty());
}

TEST(FaultInjector, DrawsTheSameJitterInEachRun) {
  std::vector<std::uint64_t> values[2];
  for (auto& run : values) {
    Rank rank;
    FaultConfig fault = delay(0.5);
    fault.jitterMs = 0.5;
    FaultInjector injector(with(fault), 0, rank.recording.tracer());
    for (std::uint32_t step = 0; step < 20; ++step) {
      injector.beginStep(step);
      injector.inPhase("forward");
    }
    for (const auto& event : rank.faults()) {
      EXPECT_LE(event.value, 1'000'000u);
      run.push_back(event.value);
    }
  }
  EXPECT_EQ(values[0].size(), 20u);
  EXPECT_EQ(values[0], values[1]);
  EXPECT_NE(values[0].front(), values[0].back());
}

TEST(FaultInjector, DelaysTheBackwardBeforeTheGradientsOfALayer) {
  Rank rank;
  FaultConfig fault = delay(1);
  fault.layer = "0";
  fault.step = 1;
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  ASSERT_TRUE(injector.watch(rank.parameters).ok());
  for (std::uint32_t step = 0; step < 3; ++step) {
    injector.beginStep(step);
    injector.inPhase("forward");
    EXPECT_TRUE(rank.faults().empty());
    rank.backward();
    EXPECT_EQ(rank.faults().size(), step == 1 ? 1u : 0u);  // drained by the look
  }
}

class CountingHook final : public hooks::CommHook {
 public:
  [[nodiscard]] std::string name() const override { return "counting"; }
  [[nodiscard]] bool takesShares() const override { return true; }
  base::Future<at::Tensor> run(hooks::GradBucket& bucket) override {
    ++runs;
    return base::Future<at::Tensor>::ready(bucket.buffer());
  }
  int runs = 0;
};

TEST(FaultInjector, DelaysOneBucketAndPassesAllOn) {
  Rank rank;
  FaultConfig fault = delay(1);
  fault.bucket = 1;
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  const auto inner = std::make_shared<CountingHook>();
  const auto hook = injector.around(inner);
  EXPECT_EQ(hook->name(), "counting");
  EXPECT_TRUE(hook->takesShares());
  injector.beginStep(0);
  injector.inPhase("forward");
  for (std::size_t index = 0; index < 3; ++index) {
    hooks::GradBucket bucket(index, 3, 0, torch::ones({4}), {0}, {4}, {{4}}, {torch::ones({4})},
                             {0});
    EXPECT_TRUE(hook->run(bucket).completed());
  }
  EXPECT_EQ(inner->runs, 3);
  const auto events = rank.faults();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].bucket, 1);
}

TEST(FaultInjector, GivesTheHookBackWhereNoBucketIsDelayed) {
  Rank rank;
  FaultInjector injector(with(delay(1)), 0, rank.recording.tracer());
  const auto inner = std::make_shared<CountingHook>();
  EXPECT_EQ(injector.around(inner), inner);
}

TEST(FaultInjector, FlipsOneBitOfOneElement) {
  Rank rank;
  FaultConfig fault;
  fault.kind = "flip_bit";
  fault.step = 2;
  fault.parameter = "1.weight";
  fault.element = 5;
  fault.bit = 31;  // the sign of a float
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  ASSERT_TRUE(injector.watch(rank.parameters).ok());
  const at::Tensor before = rank.parameters[2].tensor.detach().clone().view(-1);
  base::configureLog("");  // to stderr
  testing::internal::CaptureStderr();
  for (std::uint32_t step = 0; step < 4; ++step) {
    injector.beginStep(step);
  }
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("fault of the experiment: rank 0 has bit 31 of 1.weight flipped at step 2"));
  const at::Tensor after = rank.parameters[2].tensor.detach().view(-1);
  for (std::int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(after[i].item<float>(), (i == 5 ? -1 : 1) * before[i].item<float>()) << i;
  }
  const auto events = rank.faults();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(is(events[0], FaultKind::kFlipBit));
  EXPECT_EQ(events[0].step, 2u);
  EXPECT_EQ(events[0].value, 2u << 8 | 31u);
}

TEST(FaultInjector, PutsANanIntoOneGradientOfOneStep) {
  Rank rank;
  FaultConfig fault;
  fault.kind = "nan";
  fault.step = 1;
  fault.parameter = "0.weight";
  fault.element = 4;
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  ASSERT_TRUE(injector.watch(rank.parameters).ok());
  for (std::uint32_t step = 0; step < 3; ++step) {
    rank.model->zero_grad();
    injector.beginStep(step);
    rank.backward();
    EXPECT_EQ(rank.parameters[0].tensor.grad().isnan().sum().item<int>(), step == 1 ? 1 : 0);
    if (step == 1) {
      EXPECT_TRUE(std::isnan(rank.parameters[0].tensor.grad().view(-1)[4].item<float>()));
      rank.parameters[0].tensor.mutable_grad().reset();
    }
  }
  const auto events = rank.faults();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(is(events[0], FaultKind::kNan));
  EXPECT_EQ(events[0].value, 0u);
}

TEST(FaultInjector, NamesWhatTheModelDoesNotHave) {
  Rank rank;
  const auto errorOf = [&](FaultConfig fault) {
    FaultInjector injector(with(std::move(fault)), 0, rank.recording.tracer());
    const auto status = injector.watch(rank.parameters);
    return status.ok() ? std::string("no error") : status.error().message();
  };
  FaultConfig layer = delay(1);
  layer.layer = "7";
  EXPECT_THAT(errorOf(layer), HasSubstr("faults.layer: the model has no \"7\"; its parameters are "
                                        "0.weight, 0.bias, 1.weight, 1.bias"));
  FaultConfig nan;
  nan.kind = "nan";
  nan.step = 0;
  nan.parameter = "0";  // a layer, not a parameter
  EXPECT_THAT(errorOf(nan), HasSubstr("faults.parameter: the model has no \"0\""));
  nan.parameter = "0.weight";
  nan.element = 12;
  EXPECT_THAT(errorOf(nan), HasSubstr("faults.element: 12 is beyond the 12 elements of 0.weight"));
  FaultConfig flip = nan;
  flip.kind = "flip_bit";
  flip.element = 0;
  flip.bit = 32;
  EXPECT_THAT(errorOf(flip), HasSubstr("faults.bit: 0.weight has 32 bits an element, 0 to 31"));
  rank.parameters[0].tensor = at::ones({3, 4}).t().requires_grad_();
  flip.bit = 0;
  EXPECT_THAT(errorOf(flip), HasSubstr("faults.parameter: 0.weight is not contiguous in memory"));
}

TEST(FaultInjector, CountsTheSamplesLeftOut) {
  Rank rank;
  FaultConfig fault;
  fault.kind = "uneven";
  fault.samples = 300;
  FaultInjector injector(with(fault), 0, rank.recording.tracer());
  EXPECT_EQ(injector.samplesLeftOut(), 300);
  injector.inputsEnded(17);
  const auto events = rank.faults();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(is(events[0], FaultKind::kUneven));
  EXPECT_EQ(events[0].value, 300u);
  EXPECT_EQ(events[0].step, 17u);
}

}  // namespace
}  // namespace lockstep::train

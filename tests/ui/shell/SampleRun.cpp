#include "tests/ui/shell/SampleRun.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "engine/base/Clock.h"
#include "engine/experiment/Parse.h"
#include "engine/trace/Event.h"

namespace lockstep::tests {

using trace::EventKind;

namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;
constexpr int kParameters = 6;
constexpr std::array<std::uint64_t, 3> kBucketBytes{41'000, 132'000, 803'000};

std::int32_t stepTrack(int rank) { return rank * 2; }
std::int32_t commTrack(int rank) { return rank * 2 + 1; }

void orThrow(const base::Status& status) {
  if (!status.ok()) {
    throw std::runtime_error(status.error().message());
  }
}

}  // namespace

SampleRun::SampleRun(const std::filesystem::path& path, std::uint32_t plannedSteps,
                     const std::string& name) {
  // The rate is measured, for a run that is written in real time must not run ahead of the clock.
  const auto reading = base::readClock();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  clock_ = {reading.ticks, reading.ns, base::calibrate(reading, base::readClock()).nsPerTick};
  auto created = trace::RunFileWriter::create(path);
  if (!created.ok()) {
    throw std::runtime_error(created.error().message());
  }
  writer_ = std::move(created).value();
  experiment_.name = name;
  experiment_.train.steps = plannedSteps;
  info_.runId = name + "-sample";
  info_.name = name;
  info_.experimentToml = experiment::toToml(experiment_);
  info_.startedAt = "2026-01-31T12:00:00Z";
  info_.worldSize = kRanks;
  info_.plannedSteps = plannedSteps;
  info_.supervisorPid = getpid();
  writer_->setInfo(info_);
  writer_->addClock(clock_);
  for (int rank = 0; rank < kRanks; ++rank) {
    trace::RankInfo info;
    info.rank = rank;
    info.pid = getpid();
    info.state = "starting";
    writer_->setRank(info);
    writer_->addTrack({stepTrack(rank), rank, "step"});
    writer_->addTrack({commTrack(rank), rank, "gloo"});
  }
  commit();
}

std::uint64_t SampleRun::ticksAt(std::int64_t ns) const {
  return clock_.originTicks + static_cast<std::uint64_t>(static_cast<double>(ns) / clock_.nsPerTick);
}

void SampleRun::event(std::int32_t track, EventKind kind, std::int64_t startNs,
                      std::int64_t durationNs, std::uint16_t bucket, std::uint16_t detail,
                      std::uint64_t value) {
  trace::Event event;
  event.startTicks = ticksAt(startNs);
  event.durationTicks =
      static_cast<std::uint64_t>(static_cast<double>(durationNs) / clock_.nsPerTick);
  event.kind = static_cast<std::uint64_t>(kind);
  event.step = step_;
  event.bucket = bucket;
  event.detail = detail;
  event.value = value;
  writer_->addEvent(track, event);
}

void SampleRun::startUp() {
  constexpr std::array<std::int64_t, 5> kStageMs{120, 45, 80, 30, 25};
  for (int rank = 0; rank < kRanks; ++rank) {
    std::int64_t at = nowNs_;
    for (std::uint16_t stage = 0; stage < kStageMs.size(); ++stage) {
      event(stepTrack(rank), EventKind::kStartup, at, kStageMs[stage] * kMs, trace::kNoBucket,
            stage);
      at += kStageMs[stage] * kMs;
    }
  }
  nowNs_ += 310 * kMs;

  trace::ParametersMessage parameters;
  const std::array<std::string, kParameters> names{"0.weight", "0.bias",   "2.weight",
                                                   "2.bias",   "4.weight", "4.bias"};
  const std::array<std::vector<std::int64_t>, kParameters> shapes{
      {{256, 784}, {256}, {128, 256}, {128}, {10, 128}, {10}}};
  for (int i = 0; i < kParameters; ++i) {
    std::int64_t numel = 1;
    for (const std::int64_t size : shapes[i]) numel *= size;
    parameters.parameters.push_back({names[i], shapes[i], "float32", numel, numel * 4});
  }
  writer_->setParameters(parameters);
  trace::BucketsMessage layout;
  layout.reason = "construction";
  for (std::uint32_t bucket = 0; bucket < kBucketBytes.size(); ++bucket) {
    const std::uint32_t last = kParameters - 1 - 2 * bucket;
    layout.buckets.push_back({{last, last - 1}, {0, 64}, kBucketBytes[bucket], 1 << 20, "float32"});
  }
  writer_->addLayout(layout);
  for (int rank = 0; rank < kRanks; ++rank) {
    trace::RankInfo info;
    info.rank = rank;
    info.pid = getpid();
    info.state = "running";
    writer_->setRank(info);
  }
  info_.state = trace::RunState::kRunning;
  writer_->setInfo(info_);
  commit();
}

void SampleRun::stepOf(int rank) {
  const std::int64_t t = nowNs_;
  const std::int64_t late = rank * lateNs_;
  const std::int32_t main = stepTrack(rank);
  event(main, EventKind::kData, t, 600 * kUs);
  event(main, EventKind::kForward, t + 700 * kUs, 5 * kMs);
  if (searchNs_ > 0) {
    event(main, EventKind::kSearchUnused, t + 5700 * kUs, searchNs_);
  }
  std::int64_t done = 0;
  for (std::uint16_t bucket = 0; bucket < kBucketBytes.size(); ++bucket) {
    const std::int64_t ready = t + (8 + 3 * bucket) * kMs + late;
    const std::uint64_t bytes = kBucketBytes[bucket];
    for (int i = 0; i < 2; ++i) {
      const auto parameter = static_cast<std::uint64_t>(kParameters - 1 - 2 * bucket - i);
      event(main, EventKind::kGradientReady, ready - (2 - i) * 200 * kUs, 0, bucket, 0, parameter);
      event(main, EventKind::kCopyIn, ready - (2 - i) * 200 * kUs + 10 * kUs, 90 * kUs, bucket, 0,
            parameter);
    }
    event(main, EventKind::kBucketReady, ready, 0, bucket, 0, bytes);
    event(main, EventKind::kBucketLaunched, ready + 10 * kUs, 0, bucket, 0, bytes);
    const auto operation = trace::packOperation(trace::Operation::kAllreduce);
    const std::uint64_t id = trace::packCollective(sequence_ + bucket, bytes);
    event(main, EventKind::kCollectiveQueued, ready + 20 * kUs, 0, bucket, operation, id);
    done = t + (8 + 3 * bucket) * kMs + lateNs_ + (900 + 500 * bucket) * kUs;
    event(commTrack(rank), EventKind::kCollective, ready + 40 * kUs, done - ready - 40 * kUs,
          bucket, operation, id);
    event(commTrack(rank), EventKind::kHookCommunicate, ready + 20 * kUs, done - ready - 10 * kUs,
          bucket, 0, bytes);
  }
  event(main, EventKind::kWait, t + 15 * kMs, done - t - 15 * kMs + 50 * kUs, 2);
  event(main, EventKind::kCopyOut, done + 100 * kUs, 300 * kUs, 2, 0, kBucketBytes[2]);
  event(main, EventKind::kFinalize, t + 15 * kMs, done - t - 15 * kMs + 500 * kUs);
  event(main, EventKind::kBackward, t + 5800 * kUs, done - t - 5800 * kUs + 600 * kUs);
  event(main, EventKind::kOptimizer, done + 700 * kUs, 900 * kUs);
  event(main, EventKind::kStep, t, done - t + 1700 * kUs);
}

void SampleRun::step() {
  for (int rank = 0; rank < kRanks; ++rank) {
    stepOf(rank);
    trace::MetricRow loss;
    loss.rank = rank;
    loss.name = "loss";
    loss.step = step_;
    loss.ticks = ticksAt(nowNs_ + kStepNs);
    loss.value = 2.3 / (1 + 0.1 * step_);
    writer_->addMetric(loss);
  }
  sequence_ += kBucketBytes.size();
  ++step_;
  nowNs_ += kStepNs + lateNs_ - kLateNs;  // who waits longer begins the next one later
  commit();
}

void SampleRun::searchUnused(std::int64_t ns) {
  searchNs_ = ns;
  experiment_.ddp.findUnusedParameters = true;
  info_.experimentToml = experiment::toToml(experiment_);
  writer_->setInfo(info_);
}

void SampleRun::log(int rank, const std::string& text) {
  trace::LogRow row;
  row.rank = rank;
  row.ticks = ticksAt(nowNs_);
  row.text = text;
  writer_->addLog(row);
}

void SampleRun::problem(const trace::ProblemRow& problem) { writer_->addProblem(problem); }

void SampleRun::drop(std::uint64_t events) {
  trace::RankInfo info;
  info.rank = 1;
  info.state = "running";
  info.eventsDropped = events;
  writer_->setRank(info);
}

void SampleRun::backend(const std::string& taken) {
  for (int rank = 0; rank < 2; ++rank) {
    trace::RankInfo info;
    info.rank = rank;
    info.state = "running";
    info.environment["backend"] = taken;
    writer_->setRank(info);
  }
}

// Both tick alike here, so that the same ticks still stand for the same moments.
void SampleRun::twoHosts(std::int64_t uncertaintyNs) {
  constexpr std::int64_t kAheadNs = 5'012'000;
  hostOfRank1_ = 1;
  writer_->addHost({0, "alpha", "", "tsc"});
  writer_->addHost({1, "beta", "10.0.0.2", "tsc"});
  base::ClockCalibration there = clock_;
  there.originNs += kAheadNs;
  writer_->addClock(1, there, {kAheadNs, uncertaintyNs});
  trace::RankInfo info;
  info.rank = 1;
  info.state = "running";
  info.host = 1;
  writer_->setRank(info);
}

void SampleRun::setInfo(const trace::RunInfo& info) {
  info_ = info;
  writer_->setInfo(info_);
}

void SampleRun::commit() { orThrow(writer_->commit()); }

void SampleRun::finish(trace::RunState state, const std::string& failure) {
  const auto metric = [&](const std::string& name, double value) {
    trace::MetricRow row;
    row.name = name;
    row.step = step_ == 0 ? 0 : step_ - 1;
    row.ticks = ticksAt(nowNs_);
    row.value = value;
    writer_->addMetric(row);
  };
  if (state == trace::RunState::kFinished) {
    metric("test_accuracy", 0.976);
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    trace::RankInfo info;
    info.rank = rank;
    info.host = rank == 1 ? hostOfRank1_ : trace::kRecordingHost;
    info.state = std::string(trace::name(state));
    info.exitCode = state == trace::RunState::kFinished ? 0 : 1;
    writer_->setRank(info);
  }
  info_.state = state;
  info_.failure = failure;
  info_.finishedAt = "2026-01-31T12:00:20Z";
  info_.controlSocket.clear();
  writer_->setInfo(info_);
  orThrow(writer_->finish());
}

void writeFinishedRun(const std::filesystem::path& path, int steps, const std::string& name) {
  SampleRun run(path, static_cast<std::uint32_t>(steps), name);
  run.startUp();
  run.log(-1, "2 ranks, gloo, 127.0.0.1:41234");
  run.log(0, "epoch 0");
  run.log(1, "epoch 0");
  run.steps(steps);
  run.finish(trace::RunState::kFinished);
}

void writeRunThatSays(const std::filesystem::path& path, trace::RunInfo info) {
  std::filesystem::create_directories(path.parent_path());
  SampleRun run(path, 3);
  run.startUp();
  info.runId = info.name;
  info.worldSize = SampleRun::kRanks;
  run.setInfo(info);
  run.finish(trace::RunState::kFinished);
}

}  // namespace lockstep::tests

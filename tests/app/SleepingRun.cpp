#include "tests/app/SleepingRun.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "engine/buckets/Assign.h"
#include "engine/experiment/Parse.h"
#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::cli {
namespace {

using trace::EventKind;

constexpr std::uint32_t kParameters = 8;
constexpr std::uint64_t kBytes = 256 * 1024;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kNsPerByte = 4;

buckets::BucketPlan planOf(const experiment::DdpConfig& ddp) {
  const std::vector<buckets::TensorSpec> tensors(kParameters, {kBytes, "float32"});
  std::vector<std::uint32_t> order(kParameters);
  std::iota(order.rbegin(), order.rend(), 0u);
  buckets::BucketCaps caps;
  caps.firstBytes = buckets::capBytes(ddp.firstBucketMb).value();
  caps.capBytes = buckets::capBytes(ddp.bucketCapMb).value();
  for (const double cap : ddp.bucketCapMbList) {
    caps.list.push_back(buckets::capBytes(cap).value());
  }
  return buckets::planRebuild(tensors, order, caps);
}

/// Track `2 * rank` is the step thread, `2 * rank + 1` the backend's.
void addEvent(trace::RunFileWriter& writer, int track, EventKind kind, std::uint64_t beginNs,
              std::uint64_t endNs, std::uint32_t step, std::uint16_t bucket = trace::kNoBucket,
              std::uint64_t value = 0, std::uint16_t detail = 0) {
  trace::Event event;
  event.startTicks = beginNs;
  event.durationTicks = endNs - beginNs;
  event.kind = static_cast<std::uint16_t>(kind);
  event.step = step;
  event.bucket = bucket;
  event.value = value;
  event.detail = detail;
  writer.addEvent(track, event);
}

void addStep(trace::RunFileWriter& writer, std::uint32_t step, const buckets::BucketPlan& plan,
             std::uint64_t lateNs, std::uint64_t latencyNs, bool halves) {
  const std::uint64_t encodeNs = halves ? kMs / 2 : 0;
  const std::uint64_t decodeNs = halves ? kMs / 4 : 0;
  const std::uint64_t begin = kMs + 100 * kMs * step;
  const auto readyNs = [&](int rank, std::uint32_t parameter) {
    return begin + (11 + kParameters - 1 - parameter) * kMs + (rank == 1 ? lateNs : 0);
  };
  std::array<std::uint64_t, 2> taken{readyNs(0, 0), readyNs(1, 0)};
  const auto last = taken;
  std::uint64_t free = 0;
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    const auto number = static_cast<std::uint16_t>(b);
    const auto& bucket = plan.buckets[b];
    const std::uint32_t lastParameter = bucket.parameters.back();
    const std::uint64_t met =
        std::max(readyNs(0, lastParameter), readyNs(1, lastParameter)) + encodeNs;
    const std::uint64_t sent = halves ? bucket.bytes / 2 : bucket.bytes;
    free = std::max(free, met) + latencyNs + kNsPerByte * sent;
    for (int rank = 0; rank < 2; ++rank) {
      const std::uint64_t full = readyNs(rank, lastParameter);
      addEvent(writer, 2 * rank, EventKind::kBucketReady, full, full, step, number, bucket.bytes);
      addEvent(writer, 2 * rank, EventKind::kBucketLaunched, full, full, step, number,
               bucket.bytes);
      const std::uint64_t encoded = full + encodeNs;
      addEvent(writer, 2 * rank + 1, EventKind::kCollective, encoded, free, step, number,
               trace::packCollective(step * 100 + b, sent),
               trace::packOperation(trace::Operation::kAllreduce));
      if (halves) {
        addEvent(writer, 2 * rank + 1, EventKind::kHookEncode, full, encoded, step, number,
                 bucket.bytes);
        addEvent(writer, 2 * rank + 1, EventKind::kHookCommunicate, encoded, free, step, number);
        addEvent(writer, 2 * rank + 1, EventKind::kHookDecode, free, free + decodeNs, step, number,
                 bucket.bytes);
      }
      auto& at = taken[static_cast<std::size_t>(rank)];
      at = std::max(at, free + decodeNs);
      addEvent(writer, 2 * rank, EventKind::kCopyOut, at, at, step, number, bucket.bytes);
    }
  }
  for (int rank = 0; rank < 2; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::uint32_t parameter = 0; parameter < kParameters; ++parameter) {
      const std::uint64_t at = readyNs(rank, parameter);
      addEvent(writer, 2 * rank, EventKind::kGradientReady, at, at, step, trace::kNoBucket,
               parameter);
    }
    addEvent(writer, 2 * rank, EventKind::kForward, begin, begin + 10 * kMs, step);
    addEvent(writer, 2 * rank, EventKind::kBackward, begin + 10 * kMs, taken[r], step);
    addEvent(writer, 2 * rank, EventKind::kFinalize, last[r], taken[r], step);
    addEvent(writer, 2 * rank, EventKind::kOptimizer, taken[r], taken[r] + kMs, step);
    addEvent(writer, 2 * rank, EventKind::kStep, begin, taken[r] + kMs, step);
  }
}

trace::BucketsMessage messageOf(const buckets::BucketPlan& plan, std::uint32_t layout) {
  trace::BucketsMessage message;
  message.layout = layout;
  message.step = layout;
  message.reason = layout == 0 ? "construction" : "rebuild";
  for (const auto& bucket : plan.buckets) {
    auto& out = message.buckets.emplace_back();
    out.parameters = bucket.parameters;
    out.bytes = bucket.bytes;
    out.limitBytes = bucket.limitBytes == buckets::kUnlimited ? 0 : bucket.limitBytes;
    out.dtype = bucket.dtype;
    for (std::size_t i = 0; i < bucket.parameters.size(); ++i) {
      out.offsets.push_back(i * kBytes);
    }
  }
  return message;
}

}  // namespace

const char* const kSleepingLayers = R"({"layers": [
  {"name": "a.weight", "shape": [256, 256], "backward_us": 1000},
  {"name": "b.weight", "shape": [256, 256], "backward_us": 1000},
  {"name": "c.weight", "shape": [256, 256], "backward_us": 1000},
  {"name": "d.weight", "shape": [256, 256], "backward_us": 1000},
  {"name": "e.weight", "shape": [256, 256], "backward_us": 1000},
  {"name": "f.weight", "shape": [256, 256], "backward_us": 1000},
  {"name": "g.weight", "shape": [256, 256], "backward_us": 1000},
  {"name": "h.weight", "shape": [256, 256], "backward_us": 1000}]})";

void SleepingRun::writeTo(const std::filesystem::path& path) const {
  experiment::Experiment settings;
  settings.train.steps = steps;
  settings.ddp = ddp;
  if (!layers.empty()) {
    settings.model.kind = "shapes";
    settings.model.file = layers;
    settings.data.kind = "synthetic";
  }
  settings.hook.name = halves ? "fp16" : "allreduce";
  settings.processes.strategy = strategy;
  settings.processes.worldSize = strategy == "ddp" ? 2 : 1;
  if (linkInSettings) {
    settings.link.bandwidthGbps = 2;
    settings.link.latencyUs = latencyUs;
  }
  auto writer = trace::RunFileWriter::create(path);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  trace::RunFileWriter& file = *writer.value();
  trace::RunInfo info;
  info.name = "sleeping";
  info.kind = observed ? trace::RunKind::kObserved : trace::RunKind::kExperiment;
  info.experimentToml = observed ? "" : experiment::toToml(settings);
  info.state = trace::RunState::kFinished;
  info.worldSize = 2;
  info.plannedSteps = static_cast<std::uint32_t>(steps);
  file.setInfo(info);
  file.addClock({0, 0, 1.0});
  trace::ParametersMessage parameters;
  for (std::uint32_t i = 0; i < kParameters; ++i) {
    parameters.parameters.push_back({.name = std::string(1, static_cast<char>('a' + i)) + ".weight",
                                     .shape = {256, 256},
                                     .dtype = "float32",
                                     .numel = 256 * 256,
                                     .bytes = kBytes});
  }
  file.setParameters(parameters);
  for (int rank = 0; rank < 2; ++rank) {
    trace::RankInfo one;
    one.rank = rank;
    one.state = "finished";
    one.environment["backend"] = "shared_memory";
    file.setRank(one);
    file.addTrack({2 * rank, rank, "step"});
    file.addTrack({2 * rank + 1, rank, "shm 0"});
  }
  const buckets::BucketPlan plan = planOf(ddp);
  if (strategy == "ddp") {
    file.addLayout(messageOf(plan, 0));
    file.addLayout(messageOf(plan, 1));
  }
  for (std::uint32_t step = 0; step < static_cast<std::uint32_t>(steps); ++step) {
    addStep(file, step, plan, static_cast<std::uint64_t>(lateMs * kMs),
            static_cast<std::uint64_t>(2000 * latencyUs), halves);
  }
  const base::Status finished = file.finish();
  ASSERT_TRUE(finished.ok()) << finished.error().message();
}

}  // namespace lockstep::cli

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"
#include "tests/engine/trace/RunFileSupport.h"

namespace lockstep::capture {

/// A job that is written as a recorder would: 40 gradients, 4 buckets, steps of about 10 ms that
/// vary by some per cent, some of them with more of one part. One tick is 1 ns.
class MadeJob {
 public:
  static constexpr std::uint32_t kBuckets = 4;
  static constexpr std::uint32_t kGradients = 40;
  static constexpr std::uint64_t kPeriod = 20'000'000;

  MadeJob(int ofRanks, std::uint32_t ofSteps) : ranks(ofRanks), steps(ofSteps) {}

  int ranks;
  std::uint32_t steps;
  /// What a rank computes and communicates more in a step, in ns.
  std::function<std::uint64_t(int rank, std::uint32_t step)> computesMore = [](int, std::uint32_t) {
    return 0;
  };
  std::function<std::uint64_t(int rank, std::uint32_t step)> sendsMore = [](int, std::uint32_t) {
    return 0;
  };
  bool ends = true;  ///< its last step is ended, and the run says so
  /// What a recorder finds at a time: so many steps of each rank, one rank after the other.
  std::uint32_t stepsAPass = 1;
  /// Every how many steps parameters and gradients are sampled; 0: never.
  std::uint32_t samplesEvery = 0;
  /// The hash of a rank's one parameter, and whether its gradient has a NaN.
  std::function<std::uint64_t(int rank, std::uint32_t step)> hash = [](int, std::uint32_t step) {
    return step;
  };
  std::function<bool(int rank, std::uint32_t step)> isNan = [](int, std::uint32_t) {
    return false;
  };

  /// Returns how many events it emitted.
  std::uint64_t write(trace::RunFileWriter& file) {
    trace::RunInfo info = trace::runningInfo();
    info.worldSize = ranks;
    file.setInfo(info);
    file.addClock({0, 0, 1});
    for (int rank = 0; rank < ranks; ++rank) {
      file.addTrack({2 * rank, rank, "step"});
      file.addTrack({2 * rank + 1, rank, "gloo 0"});
    }
    for (std::uint32_t first = 0; first < steps; first += stepsAPass) {
      for (int rank = 0; rank < ranks; ++rank) {
        for (std::uint32_t step = first; step < std::min(steps, first + stepsAPass); ++step) {
          writeStep(file, rank, step);
        }
      }
      EXPECT_TRUE(file.commit().ok());
    }
    if (ends) {
      info.state = trace::RunState::kFinished;
      file.setInfo(info);
    }
    EXPECT_TRUE(file.commit().ok());
    EXPECT_TRUE(file.finish().ok());
    return events_;
  }

 private:
  void add(trace::RunFileWriter& file, int track, trace::EventKind kind, std::uint64_t begin,
           std::uint64_t end, std::uint16_t bucket = trace::kNoBucket, std::uint64_t value = 0,
           std::uint16_t detail = 0) {
    trace::Event event;
    event.kind = static_cast<std::uint16_t>(kind);
    event.startTicks = begin;
    event.durationTicks = end - begin;
    event.step = step_;
    event.bucket = bucket;
    event.value = value;
    event.detail = detail;
    file.addEvent(track, event);
    ++events_;
  }

  std::uint64_t about(double ns) {
    return static_cast<std::uint64_t>(ns * std::clamp(normal_(random_), 0.8, 1.2));
  }

  void writeStep(trace::RunFileWriter& file, int rank, std::uint32_t step) {
    using trace::EventKind;
    step_ = step;
    const int track = 2 * rank;
    const std::uint64_t begin = 1'000'000'000 + step * kPeriod;
    if (samplesEvery > 0 && step % samplesEvery == 0) {
      file.addFingerprint(rank, {step, {hash(rank, step)}, {1.0}, {0.5}});
      const std::uint64_t nans = isNan(rank, step) ? 1 : 0;
      file.addGradients(rank, {step, {{0, 1.0, 1.0, nans, 0, std::nullopt, std::nullopt}}});
    }
    const std::uint64_t backward = begin + about(2'000'000);
    add(file, track, EventKind::kForward, begin, backward);
    const std::uint64_t gradient = about(90'000) + computesMore(rank, step) / kGradients;
    std::uint64_t now = backward;
    std::uint64_t free = 0;
    for (std::uint32_t i = 0; i < kGradients; ++i) {
      now += gradient;
      const auto bucket = static_cast<std::uint16_t>(i / (kGradients / kBuckets));
      add(file, track, EventKind::kGradientReady, now, now, bucket, i);
      add(file, track, EventKind::kCopyIn, now, now + 2'000, bucket, i);
      if ((i + 1) % (kGradients / kBuckets) == 0) {
        now += 2'000;
        const std::uint64_t bytes = 1 << 20;
        add(file, track, EventKind::kBucketReady, now, now, bucket, bytes);
        add(file, track, EventKind::kBucketLaunched, now, now, bucket, bytes);
        const std::uint64_t value = trace::packCollective(step * kBuckets + bucket, bytes);
        const std::uint16_t detail = trace::packOperation(trace::Operation::kAllreduce);
        add(file, track, EventKind::kCollectiveQueued, now, now, bucket, value, detail);
        const std::uint64_t starts = std::max(now, free);
        free = starts + about(900'000) + sendsMore(rank, step) / kBuckets;
        add(file, track + 1, EventKind::kCollective, starts, free, bucket, value, detail);
      }
    }
    const std::uint64_t last = now;
    for (std::uint16_t bucket = 0; bucket < kBuckets; ++bucket) {
      now = bucket + 1U == kBuckets ? std::max(now, free) : now;
      add(file, track, EventKind::kWait, now, now + 1'000, bucket);
      add(file, track, EventKind::kCopyOut, now + 1'000, now + 4'000, bucket, 1 << 20);
      now += 4'000;
    }
    add(file, track, EventKind::kFinalize, last, now);
    add(file, track, EventKind::kBackward, backward, now);
    trace::MetricRow loss{0, rank, "loss", step, now, 1.0 / (step + 1)};
    file.addMetric(loss);
    for (const char* name : {"forward_compute_time", "backward_compute_time", "backward_comm_time",
                             "backward_compute_comm_overlap_time", "forward_compute_time_start",
                             "unused_parameter_size"}) {
      file.addMetric({0, rank, name, step, now, 1e6});
    }
    const std::uint64_t optimized = now + about(500'000);
    add(file, track, EventKind::kOptimizer, now, optimized);
    if (ends || step + 1 < steps || rank != 0) {
      add(file, track, EventKind::kStep, begin, optimized);
    }
  }

  std::mt19937 random_{7};
  std::normal_distribution<> normal_{1, 0.03};
  std::uint32_t step_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace lockstep::capture

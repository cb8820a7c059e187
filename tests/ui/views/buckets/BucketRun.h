#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"

namespace lockstep::ui::test {

/// A run of two ranks with times worked out by hand: one tick is a microsecond from tick 1000.
/// Four parameters of 100 bytes. Layout 0 has them in one bucket; layout 1, from step 1 on, is
/// {3} {2, 1} {0} under caps of 100, 150, 150. Rank r has track 2 * r for its step and backward,
/// 2 * r + 1 for its communication.
///
/// Step 1 lasts from 1000 to 2000 on rank 0 and from 1010 to 2000 on rank 1. In it (times since
/// 1000, in µs):
///   rank 0   gradients 3 2 1 0 at 100 200 300 400; buckets ready 110 310 410, launched 111 311 411
///   rank 1   gradients 2 1 3 0 at 150 250 350 450; buckets ready 360 260 460, launched 361 362 461
///   so bucket 1 stalled behind bucket 0 on rank 1, for 362 - 260 = 102
///   communication   bucket 0 from 120 (rank 0) and 370 (rank 1) to 500
///                   bucket 1 from 510 and 510 to 600, queued behind bucket 0 on both ranks
///                   bucket 2 from 610 and 615 to 700
struct BucketRun {
  BucketRun() {
    update.clock = base::ClockCalibration{1000, 0, 1000.0};
    update.info.emplace();
    update.info->name = "by hand";
    update.info->state = trace::RunState::kFinished;
    update.info->worldSize = 2;
    update.tracks.emplace();
    update.parameters.emplace();
    for (int rank = 0; rank < 2; ++rank) {
      update.tracks->push_back({2 * rank, rank, "step"});
      update.tracks->push_back({2 * rank + 1, rank, "gloo 0"});
    }
    for (const char* name : {"a.weight", "a.bias", "b.weight", "b.bias"}) {
      update.parameters->push_back(
          {.name = name, .shape = {5, 5}, .dtype = "float32", .numel = 25, .bytes = 100});
    }
    update.layouts.emplace();
    layout(0, 0, {{{0, 1, 2, 3}, 0}});
    layout(1, 1, {{{3}, 100}, {{2, 1}, 150}, {{0}, 150}});
    stepZero();
    gradients(0, {{3, 100}, {2, 200}, {1, 300}, {0, 400}});
    gradients(1, {{2, 150}, {1, 250}, {3, 350}, {0, 450}});
    launch(0, {{110, 111}, {310, 311}, {410, 411}});
    launch(1, {{360, 361}, {260, 362}, {460, 461}});
    communicate(0, 120, 370, 500);
    communicate(1, 510, 510, 600);
    communicate(2, 610, 615, 700);
    add(0, trace::EventKind::kStep, 1000, 2000, 1);
    add(2, trace::EventKind::kStep, 1010, 2000, 1);
  }

  trace::SpanRow& add(int track, trace::EventKind kind, std::uint64_t begin, std::uint64_t end,
                      std::uint32_t step, std::uint16_t bucket = trace::kNoBucket,
                      std::uint64_t value = 0, std::uint16_t detail = 0) {
    trace::SpanRow& row = update.spans.emplace_back();
    row.id = nextId++;
    row.track = track;
    row.kind = kind;
    row.startTicks = 1000 + begin;
    row.durationTicks = end - begin;
    row.step = step;
    row.bucket = bucket;
    row.value = value;
    row.detail = detail;
    return row;
  }

  trace::RunUpdate update;
  std::int64_t nextId = 1;

 private:
  using Times = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  void layout(std::uint32_t number, std::uint32_t step,
              const std::vector<std::pair<std::vector<std::uint32_t>, std::uint64_t>>& buckets) {
    trace::BucketsMessage& message = update.layouts->emplace_back();
    message.layout = number;
    message.step = step;
    message.reason = number == 0 ? "construction" : "rebuild";
    for (const auto& [parameters, limit] : buckets) {
      auto& bucket = message.buckets.emplace_back();
      bucket.parameters = parameters;
      bucket.limitBytes = limit;
      bucket.dtype = "float32";
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        bucket.offsets.push_back(bucket.bytes);
        bucket.bytes += 100;
      }
    }
  }

  // Step 0: one bucket, in order, from 0 to 900.
  void stepZero() {
    for (int rank = 0; rank < 2; ++rank) {
      for (std::uint32_t i = 0; i < 4; ++i) {
        add(2 * rank, trace::EventKind::kGradientReady, 100 + 100 * i, 100 + 100 * i, 0,
            trace::kNoBucket, 3 - i);
      }
      add(2 * rank, trace::EventKind::kBucketReady, 410, 410, 0, 0, 400);
      add(2 * rank, trace::EventKind::kBucketLaunched, 411, 411, 0, 0, 400);
      add(2 * rank + 1, trace::EventKind::kCollective, 420, 800, 0, 0,
          trace::packCollective(0, 400), trace::packOperation(trace::Operation::kAllreduce));
      add(2 * rank, trace::EventKind::kStep, 0, 900, 0);
    }
  }

  void gradients(int rank, const Times& times) {
    for (const auto& [parameter, at] : times) {
      add(2 * rank, trace::EventKind::kGradientReady, 1000 + at, 1000 + at, 1, trace::kNoBucket,
          parameter);
    }
  }

  void launch(int rank, const Times& times) {
    std::uint16_t bucket = 0;
    for (const auto& [ready, launched] : times) {
      add(2 * rank, trace::EventKind::kBucketReady, 1000 + ready, 1000 + ready, 1, bucket);
      add(2 * rank, trace::EventKind::kBucketLaunched, 1000 + launched, 1000 + launched, 1, bucket);
      ++bucket;
    }
  }

  void communicate(std::uint16_t bucket, std::uint64_t begin0, std::uint64_t begin1,
                   std::uint64_t end) {
    int rank = 0;
    for (const std::uint64_t begin : {begin0, begin1}) {
      add(2 * rank++ + 1, trace::EventKind::kCollective, 1000 + begin, 1000 + end, 1, bucket,
          trace::packCollective(1 + bucket, 100),
          trace::packOperation(trace::Operation::kAllreduce));
    }
  }
};

}  // namespace lockstep::ui::test

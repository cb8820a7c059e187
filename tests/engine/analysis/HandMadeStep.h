#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/analysis/ReadyOrder.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {

/// The buckets of one step made span by span, and their layout.
class HandMadeStep {
 public:
  explicit HandMadeStep(int count) {
    for (int rank = 0; rank < count; ++rank) {
      ranks.push_back({rank, {}});
    }
  }

  /// Adds a bucket of 100 bytes a parameter.
  HandMadeStep& bucket(std::vector<std::uint32_t> parameters, std::uint64_t limitBytes = 0) {
    trace::BucketsMessage::Bucket& bucket = layout.buckets.emplace_back();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      bucket.offsets.push_back(bucket.bytes);
      bucket.bytes += 100;
    }
    bucket.parameters = std::move(parameters);
    bucket.limitBytes = limitBytes;
    bucket.dtype = "float32";
    return *this;
  }

  HandMadeStep& add(int rank, trace::EventKind kind, std::uint64_t begin, std::uint64_t end,
                    std::uint16_t bucket, std::uint64_t value = 0, std::uint32_t step = 0) {
    trace::SpanRow row;
    row.id = nextId_++;
    row.kind = kind;
    row.startTicks = begin;
    row.durationTicks = end - begin;
    row.bucket = bucket;
    row.value = value;
    row.step = step;
    ranks[static_cast<std::size_t>(rank)].spans.push_back(row);
    return *this;
  }

  HandMadeStep& ready(int rank, std::uint32_t parameter, std::uint64_t at, std::uint32_t step = 0) {
    return add(rank, trace::EventKind::kGradientReady, at, at, trace::kNoBucket, parameter, step);
  }

  /// The bucket is ready and launched.
  HandMadeStep& launch(int rank, std::uint16_t bucket, std::uint64_t readyAt,
                       std::uint64_t launchedAt) {
    add(rank, trace::EventKind::kBucketReady, readyAt, readyAt, bucket);
    return add(rank, trace::EventKind::kBucketLaunched, launchedAt, launchedAt, bucket);
  }

  HandMadeStep& collective(int rank, std::uint16_t bucket, std::uint64_t begin, std::uint64_t end,
                           std::uint64_t sequence,
                           trace::Operation operation = trace::Operation::kAllreduce) {
    add(rank, trace::EventKind::kCollective, begin, end, bucket,
        trace::packCollective(sequence, 100));
    ranks[static_cast<std::size_t>(rank)].spans.back().detail = trace::packOperation(operation);
    return *this;
  }

  std::vector<RankSpans> ranks;
  trace::BucketsMessage layout;

 private:
  std::int64_t nextId_ = 1;
};

}  // namespace lockstep::analysis

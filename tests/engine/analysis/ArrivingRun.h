#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "tests/engine/analysis/HandMadeRun.h"

namespace lockstep::analysis {

inline constexpr std::uint64_t kStepTicks = 50'000;  // 50 ms
inline constexpr std::uint32_t kBuckets = 3;

/// Steps of several ranks with all that the analysis looks at; rank 1 is late.
inline HandMadeRun trained(int ranks, std::uint32_t steps) {
  HandMadeRun run(ranks);
  std::mt19937 random(7);
  const auto some = [&](std::uint64_t most) { return random() % most; };
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint64_t begin = 10'000 + step * kStepTicks + some(200);
      const std::uint64_t end = begin + kStepTicks - 300 - some(500);
      run.add(rank, trace::EventKind::kForward, begin, begin + 10'000 + some(900), step);
      for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
        const std::uint64_t ready = begin + 15'000 + bucket * 5'000 + some(2'000);
        run.add(rank, trace::EventKind::kGradientReady, ready, ready, step, bucket);
        run.add(rank, trace::EventKind::kCopyIn, ready, ready + 300 + some(99), step, bucket);
        const auto ofBucket = [&](trace::EventKind kind, std::uint64_t from, std::uint64_t to) {
          run.add(rank, kind, from, to, step);
          run.spans.back().bucket = static_cast<std::uint16_t>(bucket);
        };
        ofBucket(trace::EventKind::kBucketReady, ready, ready);
        ofBucket(trace::EventKind::kBucketLaunched, ready + 350, ready + 350);
        ofBucket(trace::EventKind::kHookEncode, ready + 350, ready + 390);
        const std::uint64_t call = ready + 400 + (rank == 1 ? 3'000 : 0);
        const std::uint64_t sequence = step * kBuckets + bucket;
        run.addCheck(rank, call, call + 200, sequence + 5, step);
        run.spans.back().bucket = static_cast<std::uint16_t>(bucket);
        // The last of a step goes on into the next one.
        const std::uint64_t done = bucket + 1 == kBuckets && step % 5 == 0
                                       ? end + 500 + some(99)
                                       : call + 5'000 + some(3'000);
        run.addCollective(rank, call + 200, done, sequence, step);
        run.spans.back().bucket = static_cast<std::uint16_t>(bucket);
        ofBucket(trace::EventKind::kHookCommunicate, ready + 390, done + 20);
        ofBucket(trace::EventKind::kHookDecode, done + 20, done + 100 + some(50));
        if (bucket == 1) {
          run.addCollective(rank, done, done + 700, sequence, step);
          run.spans.back().kind = trace::EventKind::kShaped;
        }
      }
      run.add(rank, trace::EventKind::kBackward, begin + 11'000, begin + 32'000, step);
      run.add(rank, trace::EventKind::kFinalize, begin + 30'000, begin + 32'000, step);
      run.add(rank, trace::EventKind::kOffCore, begin + 20'000, begin + 24'000, step,
              1'000 * some(300));
      run.add(rank, trace::EventKind::kOptimizer, begin + 33'000, begin + 40'000 + some(2'000),
              step);
      run.add(rank, trace::EventKind::kStep, begin, end, step);
    }
  }
  return run;
}

/// The run as it came: each span a while after its end, and its id by that.
inline void arrive(HandMadeRun& run,
                   const std::function<std::uint64_t(const trace::SpanRow&)>& delay = nullptr) {
  std::vector<std::pair<std::uint64_t, trace::SpanRow>> order;
  for (const trace::SpanRow& span : run.spans) {
    order.emplace_back(span.startTicks + span.durationTicks + (delay ? delay(span) : 0), span);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  run.spans.clear();
  for (auto& [ticks, span] : order) {
    span.id = static_cast<std::int64_t>(run.spans.size() + 1);
    run.spans.push_back(span);
  }
}

/// Calls `look` with the run as it has come after each piece of so many spans, and once more when
/// it has ended.
inline void feedPieces(const HandMadeRun& run, std::size_t piece,
                       const std::function<void(RunData& data, bool more)>& look) {
  RunData data = run.tables;
  for (std::size_t i = 0; i < run.spans.size(); ++i) {
    data.spans.push_back(run.spans[i]);
    if ((i + 1) % piece == 0) {
      look(data, true);
    }
  }
  look(data, false);
}

}  // namespace lockstep::analysis

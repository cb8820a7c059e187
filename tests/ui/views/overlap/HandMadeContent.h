#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"
#include "ui/views/overlap/OverlapContent.h"

namespace lockstep::ui::test {

/// What a rank does in a step of 10 ms that begins at `at`: forward 0..2, backward 2..10 of which
/// it waits from `computed` on; its collective ends at 9.
struct HandMadeStep {
  std::uint64_t at = 0;
  std::uint64_t computed = 6'000;
  std::uint64_t arrived = 5'000;

  void addTo(analysis::HandMadeRun& run, int rank, std::uint32_t step) const {
    using trace::EventKind;
    run.add(rank, EventKind::kStep, at, at + 10'000, step);
    run.add(rank, EventKind::kForward, at, at + 2'000, step);
    run.add(rank, EventKind::kBackward, at + 2'000, at + 10'000, step);
    run.add(rank, EventKind::kWait, at + computed, at + 10'000, step);
    for (const EventKind kind : {EventKind::kBucketReady, EventKind::kBucketLaunched}) {
      run.add(rank, kind, at + 5'000, at + 5'000, step);
      run.spans.back().bucket = 0;
    }
    run.addCollective(rank, at + arrived, at + 9'000, step, step);
    run.spans.back().bucket = 0;
  }
};

inline AnalysedRun analysedRun(const analysis::HandMadeRun& run) {
  AnalysedRun analysed;
  analysed.analysis = analysis::analyse(run.data());
  analysed.data = run.data();
  return analysed;
}

/// Two ranks and `steps` steps. Bucket 0 is ready at 5; rank 0 comes to its collective at 5, rank 1
/// at 8, both end at 9. So
///   computing 0..6, in flight 5..9 on rank 0 and 8..9 on rank 1;
///   rank 0: alone 5, overlapped 1, exposed 3 (waiting 2, transfer 1), other 1;
///   rank 1: alone 6, overlapped 0, exposed 1 (transfer), other 3.
/// Ranks that are named with a step have dropped events in it.
inline AnalysedRun handMadeRun(std::uint32_t steps,
                               const std::vector<std::pair<int, std::uint32_t>>& dropped = {}) {
  const auto begin = [](std::uint32_t step) { return 10'000 + std::uint64_t{step} * 10'000; };
  analysis::HandMadeRun run(2);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (const int rank : {0, 1}) {
      HandMadeStep{begin(step), 6'000, rank == 0 ? 5'000u : 8'000u}.addTo(run, rank, step);
    }
  }
  for (const auto& [rank, step] : dropped) {
    run.add(rank, trace::EventKind::kGap, begin(step) + 1'000, begin(step) + 1'100, step, 1);
  }
  return analysedRun(run);
}

/// Nine ranks whose collective begins at 5 ms, but that of rank 6 at 8: so each is exposed from 6,
/// or from when it came, on. Rank 6 has 1 ms of it, all others 3, and rank 3 has 4 in step 4, whose
/// computing ends at 5.
inline AnalysedRun manyRanks(std::uint32_t steps) {
  analysis::HandMadeRun run(9);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (int rank = 0; rank < 9; ++rank) {
      HandMadeStep{10'000 + std::uint64_t{step} * 10'000, rank == 3 && step == 4 ? 5'000u : 6'000u,
                   rank == 6 ? 8'000u : 5'000u}
          .addTo(run, rank, step);
    }
  }
  return analysedRun(run);
}

inline std::shared_ptr<const OverlapContent> handMadeContent(
    std::uint32_t steps, const std::vector<std::pair<int, std::uint32_t>>& dropped = {}) {
  return overlapContent(handMadeRun(steps, dropped));
}

}  // namespace lockstep::ui::test

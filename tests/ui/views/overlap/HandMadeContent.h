#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/engine/analysis/HandMadeRun.h"
#include "ui/views/overlap/OverlapContent.h"

namespace lockstep::ui::test {

/// Two ranks and `steps` steps of 10 ms: forward 0..2, backward 2..10 of which it waits 6..10.
/// Bucket 0 is ready at 5; rank 0 comes to its collective at 5, rank 1 at 8, both end at 9. So
///   computing 0..6, in flight 5..9 on rank 0 and 8..9 on rank 1;
///   rank 0: alone 5, overlapped 1, exposed 3 (waiting 2, transfer 1), other 1;
///   rank 1: alone 6, overlapped 0, exposed 1 (transfer), other 3.
/// Ranks that are named with a step have dropped events in it.
inline AnalysedRun handMadeRun(std::uint32_t steps,
                               const std::vector<std::pair<int, std::uint32_t>>& dropped = {}) {
  using trace::EventKind;
  analysis::HandMadeRun run(2);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::uint64_t at = 10'000 + std::uint64_t{step} * 10'000;
    for (const int rank : {0, 1}) {
      run.add(rank, EventKind::kStep, at, at + 10'000, step);
      run.add(rank, EventKind::kForward, at, at + 2'000, step);
      run.add(rank, EventKind::kBackward, at + 2'000, at + 10'000, step);
      run.add(rank, EventKind::kWait, at + 6'000, at + 10'000, step);
      for (const EventKind kind : {EventKind::kBucketReady, EventKind::kBucketLaunched}) {
        run.add(rank, kind, at + 5'000, at + 5'000, step);
        run.spans.back().bucket = 0;
      }
      run.addCollective(rank, at + (rank == 0 ? 5'000 : 8'000), at + 9'000, step, step);
      run.spans.back().bucket = 0;
    }
  }
  for (const auto& [rank, step] : dropped) {
    const std::uint64_t at = 10'000 + std::uint64_t{step} * 10'000;
    run.add(rank, EventKind::kGap, at + 1'000, at + 1'100, step, 1);
  }
  AnalysedRun analysed;
  analysed.analysis = analysis::analyse(run.data());
  analysed.data = run.data();
  return analysed;
}

inline std::shared_ptr<const OverlapContent> handMadeContent(
    std::uint32_t steps, const std::vector<std::pair<int, std::uint32_t>>& dropped = {}) {
  return overlapContent(handMadeRun(steps, dropped));
}

}  // namespace lockstep::ui::test

#pragma once

#include <cstdint>
#include <vector>

#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/RunData.h"
#include "engine/trace/Event.h"

namespace lockstep::analysis {

/// A run made span by span. One tick is a microsecond, so that 1000 ticks are 1 ms; each rank
/// has track 10 * rank for its step thread and 10 * rank + 1 for its communication.
class HandMadeRun {
 public:
  explicit HandMadeRun(int ranks) {
    tables.clock.nsPerTick = 1'000;
    for (int rank = 0; rank < ranks; ++rank) {
      tables.tracks.push_back({10 * rank, rank, "step"});
      tables.tracks.push_back({10 * rank + 1, rank, "gloo 0"});
    }
  }

  void add(int rank, trace::EventKind kind, std::uint64_t begin, std::uint64_t end,
           std::uint32_t step = 0, std::uint64_t value = 0) {
    trace::SpanRow row;
    row.id = static_cast<std::int64_t>(spans.size());
    row.track = 10 * rank;
    row.kind = kind;
    row.startTicks = begin;
    row.durationTicks = end - begin;
    row.step = step;
    row.value = value;
    spans.push_back(row);
  }

  void addCollective(int rank, std::uint64_t begin, std::uint64_t end, std::uint64_t sequence,
                     std::uint32_t step = 0,
                     trace::Operation operation = trace::Operation::kAllreduce,
                     std::uint8_t group = 0) {
    add(rank, trace::EventKind::kCollective, begin, end, step,
        trace::packCollective(sequence, 400));
    spans.back().track = 10 * rank + 1;
    spans.back().detail = trace::packOperation(operation, group);
    spans.back().bucket = 3;
  }

  void addCheck(int rank, std::uint64_t begin, std::uint64_t end, std::uint64_t sequence,
                std::uint32_t step = 0) {
    addCollective(rank, begin, end, sequence, step);
    spans.back().kind = trace::EventKind::kChecked;
  }

  /// The run as an analysis takes it.
  [[nodiscard]] RunData data() const {
    RunData data = tables;
    for (const trace::SpanRow& span : spans) {
      data.spans.push_back(span);
    }
    return data;
  }

  RunData tables;  ///< all but the spans
  std::vector<trace::SpanRow> spans;
};

/// The collectives of an analysis, all at once.
inline std::vector<CollectiveTimes> collectiveTimes(const RunData& data) {
  const RunAnalysis run = analyse(data);
  return {run.collectives.begin(), run.collectives.end()};
}

/// Its steps.
inline std::vector<StepTimes> stepTimes(const RunData& data) {
  const RunAnalysis run = analyse(data);
  const auto steps = run.steps();
  return {steps.begin(), steps.end()};
}

}  // namespace lockstep::analysis

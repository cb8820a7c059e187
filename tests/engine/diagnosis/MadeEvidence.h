#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/diagnosis/Evidence.h"
#include "engine/diagnosis/Finding.h"
#include "engine/trace/Event.h"

namespace lockstep::diagnosis::test {

/// A run of two ranks, 20 measured steps of 100 ms, in which nothing is the matter.
inline Evidence healthy() {
  Evidence evidence;
  evidence.info.worldSize = 2;
  evidence.info.state = trace::RunState::kFinished;
  evidence.experiment.emplace();
  evidence.data.clock.nsPerTick = 1000;
  evidence.data.tracks = {{0, 0, "step"}, {10, 1, "step"}};
  evidence.stepMs = 100;
  evidence.measuredSteps = 20;
  for (int rank = 0; rank < 2; ++rank) {
    RankWork& work = evidence.work.emplace_back(rank);
    for (std::uint32_t step = 1; step <= 20; ++step) {
      work.set(step, {WorkPart::Kind::kData, 0}, 1);
      work.set(step, {WorkPart::Kind::kForward, 0}, 30);
      analysis::StepOverlap& overlap = evidence.steps.emplace_back();
      overlap.times.rank = rank;
      overlap.times.step = step;
      overlap.times.stepMs = 100;
    }
    evidence.run.ranks.emplace_back().rank = rank;
  }
  return evidence;
}

inline void addSpan(Evidence& evidence, trace::EventKind kind, std::uint32_t step,
                    std::uint64_t begin, std::uint64_t ticks, std::int32_t track = 0) {
  trace::SpanRow row;
  row.track = track;
  row.kind = kind;
  row.step = step;
  row.startTicks = begin;
  row.durationTicks = ticks;
  evidence.data.spans.push_back(row);
}

inline std::string said(const Finding& finding) {
  return finding.title + " | " + finding.sentence + " | " + finding.remedy;
}

inline Finding only(const std::vector<Finding>& findings) {
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings.front();
}

/// The second of two parameters is layers.1.weight.
inline Evidence withParameters() {
  Evidence evidence = healthy();
  evidence.data.parameters.resize(2);
  evidence.data.parameters[0].name = "layers.0.weight";
  evidence.data.parameters[1].name = "layers.1.weight";
  return evidence;
}

}  // namespace lockstep::diagnosis::test

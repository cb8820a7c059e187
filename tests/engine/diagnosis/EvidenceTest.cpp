#include "engine/diagnosis/Evidence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "engine/analysis/GrowingAnalysis.h"
#include "engine/diagnosis/Diagnose.h"
#include "tests/engine/analysis/ArrivingRun.h"

namespace lockstep::diagnosis {
namespace {

std::vector<analysis::StepOverlap> inOrder(std::vector<analysis::StepOverlap> steps) {
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    return std::tie(a.times.rank, a.times.startTicks) < std::tie(b.times.rank, b.times.startTicks);
  });
  return steps;
}

std::vector<std::string> titles(const Diagnosis& diagnosis) {
  std::vector<std::string> all;
  for (const Finding& finding : diagnosis.findings) {
    all.push_back(finding.title);
  }
  return all;
}

TEST(GrowingEvidenceTest, IsThatOfAllAtOnce) {
  analysis::HandMadeRun run = analysis::trained(3, 200);
  analysis::arrive(run);
  analysis::GrowingAnalysis growing;
  GrowingEvidence evidence;
  analysis::feedPieces(run, 1'499, [&](const analysis::RunData& data, bool more) {
    Recording recording;
    recording.info.kind = trace::RunKind::kObserved;
    recording.info.state = more ? trace::RunState::kRunning : trace::RunState::kFinished;
    recording.info.worldSize = 3;
    recording.data = data;
    recording.analysis = growing.refresh(data, more);
    const Evidence whole = evidenceOf(recording, "run.lockstep");
    const Evidence& grown = evidence.refresh(recording, "run.lockstep");
    ASSERT_EQ(inOrder(grown.steps), whole.steps) << data.spans.size();
    EXPECT_EQ(grown.causes, whole.causes);
    EXPECT_EQ(grown.measuredSteps, whole.measuredSteps);
    EXPECT_NEAR(grown.stepMs, whole.stepMs, 1e-9);
    EXPECT_EQ(grown.calls.size(), whole.calls.size());
    EXPECT_EQ(grown.work.size(), whole.work.size());
    EXPECT_EQ(titles(diagnose(grown)), titles(diagnose(whole)));
  });
}

TEST(EvidenceTest, GivesBackTheRoomOfTheTailsThatItHasSummed) {
  Recording recording;
  recording.info.kind = trace::RunKind::kObserved;
  recording.info.state = trace::RunState::kFinished;
  recording.data = analysis::trained(3, 100).data();
  const Evidence evidence = evidenceOf(recording, "run.lockstep");
  EXPECT_FALSE(evidence.causes.empty());
  ASSERT_EQ(evidence.steps.size(), 300u);
  for (const analysis::StepOverlap& step : evidence.steps) {
    EXPECT_EQ(step.tail.capacity(), 0u);
  }
}

}  // namespace
}  // namespace lockstep::diagnosis

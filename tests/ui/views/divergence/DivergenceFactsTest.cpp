#include "ui/views/divergence/DivergenceFacts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/trace/Event.h"
#include "tests/ui/views/divergence/DivergentRun.h"

namespace lockstep::ui {
namespace {

constexpr std::uint32_t kStepsBetween = 10;

/// Adds what two ranks leave of a step: rank 1 differs from step 400 on, and has a gradient and a
/// loss that are no numbers.
void addStep(analysis::RunData& data, std::uint32_t step) {
  for (int rank = 0; rank < 2; ++rank) {
    const bool bad = rank == 1 && step == 600;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    data.losses.push_back({0, rank, "loss", step, 0, bad ? nan : std::sin(step)});
    trace::SpanRow span;
    span.id = 2 * std::int64_t{step} + rank;
    span.track = rank;
    span.kind = trace::EventKind::kStep;
    span.startTicks = 1'000 * std::uint64_t{step};
    span.durationTicks = 900;
    span.step = step;
    data.spans.push_back(span);
    if (step % kStepsBetween != 0) {
      continue;
    }
    for (std::uint32_t parameter = 0; parameter < 3; ++parameter) {
      const bool differs = rank == 1 && step >= 400 && parameter == 1;
      test::addFingerprint(data, rank, step, parameter, step + (differs ? 1 : 0),
                           differs ? 1.5 : 1);
    }
    data.sketches.push_back({0, rank, step, {1.0, rank == 1 && step >= 400 ? 2.0 : 1.0}});
    for (std::uint16_t bucket = 0; bucket < 2; ++bucket) {
      trace::GradientsMessage::Bucket gradients;
      gradients.bucket = bucket;
      gradients.norm = 1.0 + std::cos(step + bucket);
      gradients.nans = bad && bucket == 1 ? 3 : 0;
      data.gradients.push_back({0, rank, step, gradients});
    }
  }
}

FactsInput inputOf(const analysis::RunData& data, std::uint32_t closed, int anew) {
  auto run = std::make_shared<AnalysedRun>();
  run->data = data;
  run->analysis.closed = {closed, anew, true};
  FactsInput input;
  input.run = std::move(run);
  return input;
}

void expectSame(const HeatPyramid& grown, const HeatPyramid& whole, std::size_t parameters) {
  ASSERT_EQ(grown.levels(), whole.levels());
  for (std::size_t level = 0; level < whole.levels(); ++level) {
    ASSERT_EQ(grown.blocks(level), whole.blocks(level));
    for (std::size_t block = 0; block < whole.blocks(level); ++block) {
      for (std::size_t parameter = 0; parameter < parameters; ++parameter) {
        ASSERT_EQ(grown.at(level, block, parameter), whole.at(level, block, parameter))
            << level << ", " << block << ", " << parameter;
      }
    }
  }
}

void expectSame(const std::vector<StripData>& grown, const std::vector<StripData>& whole) {
  ASSERT_EQ(grown.size(), whole.size());
  for (std::size_t strip = 0; strip < whole.size(); ++strip) {
    ASSERT_EQ(grown[strip].kind, whole[strip].kind);
    ASSERT_EQ(grown[strip].series.size(), whole[strip].series.size());
    for (std::size_t i = 0; i < whole[strip].series.size(); ++i) {
      const StepSeries& a = grown[strip].series[i];
      const StepSeries& b = whole[strip].series[i];
      EXPECT_EQ(a.rank(), b.rank());
      EXPECT_EQ(a.firstNotFinite(), b.firstNotFinite());
      ASSERT_EQ(a.pieces().size(), b.pieces().size());
      for (std::size_t piece = 0; piece < b.pieces().size(); ++piece) {
        ASSERT_EQ(a.pieces()[piece].step, b.pieces()[piece].step);
        ASSERT_EQ(a.pieces()[piece].last, b.pieces()[piece].last);
        ASSERT_EQ(a.pieces()[piece].most, b.pieces()[piece].most);
      }
    }
  }
}

TEST(DivergenceFactsTest, OfARunThatGrowsAreThoseOfAllAtOnce) {
  analysis::RunData data;
  data.tracks = {{0, 0, "step"}, {1, 1, "step"}};
  GrowingDivergenceFacts growing;
  for (std::uint32_t step = 0; step < 1'200; ++step) {
    addStep(data, step);
    if (step % 37 != 0) {
      continue;
    }
    // Once all is analysed anew: nothing of what was closed counts any more.
    const FactsInput input = inputOf(data, step - std::min(step, 50u), step < 700 ? 0 : 1);
    const auto grown = growing.refresh(input);
    const auto whole = divergenceFacts(input);
    expectSame(grown->hashes, whole->hashes, 3);
    expectSame(grown->norms, whole->norms, 3);
    expectSame(grown->strips, whole->strips);
    EXPECT_EQ(grown->firstStep, whole->firstStep);
    EXPECT_EQ(grown->lastStep, whole->lastStep);
    EXPECT_TRUE(std::ranges::equal(grown->divergence.findings, whole->divergence.findings));
    EXPECT_EQ(grown->divergence.consensusRelativeError, whole->divergence.consensusRelativeError);
  }
}

TEST(DivergenceFactsTest, ALossOfAStepThatIsTakenAgainStandsAtItsStep) {
  analysis::RunData data;
  GrowingDivergenceFacts growing;
  for (const std::uint32_t step : {0u, 1u, 2u, 3u, 2u, 3u, 4u}) {
    data.losses.push_back({0, 0, "loss", step, 0, static_cast<double>(data.losses.size())});
    const FactsInput input = inputOf(data, 0, 0);
    const auto grown = growing.refresh(input);
    expectSame(grown->strips, divergenceFacts(input)->strips);
  }
}

}  // namespace
}  // namespace lockstep::ui

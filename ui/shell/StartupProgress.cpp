#include "ui/shell/StartupProgress.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>

#include "engine/trace/Event.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {
namespace {

constexpr int kStages = 5;  // of trace::StartupStage
// Start-up spans come first in their rows; nothing is searched beyond this many.
constexpr std::size_t kSearched = 64;

struct RankStages {
  std::array<bool, kStages> done{};
  std::array<double, kStages> seconds{};
};

RankStages stagesOf(const RunModel& model, int rank) {
  RankStages result;
  const int id = laneId(rank, laneRoleOf(trace::EventKind::kStartup));
  const Lane* lane = model.lane(id);
  if (lane == nullptr) {
    return result;
  }
  for (int row = 0; row < static_cast<int>(lane->rows.size()); ++row) {
    const std::size_t count = std::min(lane->rows[row].size(), kSearched);
    for (std::size_t i = 0; i < count; ++i) {
      const Span span = model.spanAt(id, row, i);
      if (span.kind == trace::EventKind::kStartup && span.detail < kStages) {
        result.done[span.detail] = true;
        result.seconds[span.detail] = span.durationNs / 1e9;
      }
    }
  }
  return result;
}

/// A rank of a job attaches, and says no more until it iterates.
StartupProgress progressOfJob(const RunModel& model) {
  StartupProgress progress = startOfJob();
  progress.ranks = model.rankCount();
  progress.steps = progress.ranks > 0 ? model.stepCount(0) : 0;
  for (int rank = 0; rank < progress.ranks; ++rank) {
    const std::size_t steps = model.stepCount(rank);
    progress.steps = std::min(progress.steps, steps);
    progress.stages[2].ranksDone += steps > 0 ? 1 : 0;
  }
  for (const trace::RankInfo& rank : model.ranks()) {
    progress.stages[1].ranksDone += rank.pid != 0 ? 1 : 0;
  }
  progress.stages[2].done = progress.ranks > 0 && progress.stages[2].ranksDone == progress.ranks;
  progress.stages[1].done = progress.stages[2].done ||
                            (progress.ranks > 0 && progress.stages[1].ranksDone == progress.ranks);
  return progress;
}

}  // namespace

std::size_t StartupProgress::active() const {
  return static_cast<std::size_t>(
      std::find_if(stages.begin(), stages.end(), [](const Stage& s) { return !s.done; }) -
      stages.begin());
}

StartupProgress startOfJob() {
  const auto tr = [](const char* text) { return QCoreApplication::translate("StepStrip", text); };
  StartupProgress progress;
  progress.stages = {{tr("Command"), true}, {tr("Attached")}, {tr("Step 1")}};
  return progress;
}

// Note [Stages of a start-up]
//
// Each rank records a span for each stage that it has ended, its number in the detail. A stage is
// done when all ranks are through it, and took as long as the slowest of them:
//
//            Spawn    Rendezvous   Data     Model    Buckets   Step 1
//   rank 0   0.31 s   0.12 s       0.02 s   0.40 s
//   rank 1   0.35 s   0.12 s       0.02 s
//   strip    ✓ 0.35   ✓ 0.12       ✓ 0.02   ● 1 of 2
//
// Events may have been lost, or not recorded at that level. So the last stage in which all ranks
// are seen carries those before it: ranks that iterate have a model, whatever was recorded of it.
StartupProgress startupProgress(const RunModel* model) {
  if (model != nullptr && model->info().kind == trace::RunKind::kObserved) {
    return progressOfJob(*model);
  }
  const auto tr = [](const char* text) { return QCoreApplication::translate("StepStrip", text); };
  StartupProgress progress;
  progress.stages = {{tr("Spawn")}, {tr("Rendezvous")}, {tr("Data")},
                     {tr("Model")}, {tr("Buckets")},    {tr("Step 1")}};
  progress.ranks = model != nullptr ? model->rankCount() : 0;
  if (progress.ranks == 0) {
    return progress;
  }
  progress.steps = model->stepCount(0);
  for (int rank = 0; rank < progress.ranks; ++rank) {
    const RankStages stages = stagesOf(*model, rank);
    for (int stage = 0; stage < kStages; ++stage) {
      progress.stages[stage].ranksDone += stages.done[stage] ? 1 : 0;
      progress.stages[stage].seconds =
          std::max(progress.stages[stage].seconds, stages.seconds[stage]);
    }
    const std::size_t steps = model->stepCount(rank);
    // The slowest rank counts, in steps as in seconds.
    progress.steps = std::min(progress.steps, steps);
    progress.stages[kStages].ranksDone += steps > 0 ? 1 : 0;
    if (const auto first = model->step(rank, 0)) {
      progress.stages[kStages].seconds =
          std::max(progress.stages[kStages].seconds, (first->endNs - first->startNs) / 1e9);
    }
  }
  // From the last stage backwards: Note [Stages of a start-up].
  bool later = false;
  for (auto stage = progress.stages.rbegin(); stage != progress.stages.rend(); ++stage) {
    later = later || stage->ranksDone == progress.ranks;
    stage->done = later;
  }
  return progress;
}

}  // namespace lockstep::ui

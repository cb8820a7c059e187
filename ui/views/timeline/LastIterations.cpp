#include "ui/views/timeline/LastIterations.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace lockstep::ui {
namespace {

constexpr double kIterationsFollowed = 3;
constexpr int kStepsAveraged = 5;
constexpr double kRightMargin = 0.04;  // of a followed run

}  // namespace

TimeRange lastIterations(const RunModel& model) {
  const TimeRange all = model.extent();
  double length = all.lengthNs();
  // By the mean length of a few, so that the scale does not jump while the run goes on.
  for (int rank = 0; rank < model.rankCount(); ++rank) {
    const std::size_t count = model.stepCount(rank);
    if (count == 0) {
      continue;
    }
    const int id = laneId(rank, LaneRole::kPhases);
    const std::size_t from = count - std::min<std::size_t>(count, kStepsAveraged);
    const double each =
        (model.spanAt(id, 0, count - 1).endNs() - model.spanAt(id, 0, from).startNs) /
        static_cast<double>(count - from);
    length = std::min(length, each * kIterationsFollowed);
    break;
  }
  // A run that is through ends with an evaluation that may be longer than the view: what is
  // worth a look is the iterations before it.
  std::optional<double> lastNs;
  for (int rank = 0; rank < model.rankCount(); ++rank) {
    const auto last = model.lastStep(rank);
    const trace::RunState state = model.info().state;
    if (last && (state == trace::RunState::kFinished || state == trace::RunState::kDiverged)) {
      lastNs = std::max(lastNs.value_or(last->endNs), last->endNs);
    }
  }
  const double end = lastNs.value_or(all.endNs) + length * kRightMargin;
  return {end - length * (1 + kRightMargin), end};
}

}  // namespace lockstep::ui

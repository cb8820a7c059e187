#include "ui/model/StepSelection.h"

#include "engine/trace/Event.h"
#include "ui/model/LaneSearch.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr double kMargin = 0.04;  // of the iteration, at either side

}  // namespace

std::optional<Span> stepSpan(const RunModel& model, int rank, std::uint32_t number) {
  const auto step = model.step(rank, number);
  if (!step) {
    return std::nullopt;
  }
  return spanInLane(
      model, laneId(rank, LaneRole::kPhases), (step->startNs + step->endNs) / 2,
      [&](const Span& span) { return span.kind == EventKind::kStep && span.step == number; });
}

std::optional<Span> spanOf(const RunModel& model, int rank, const trace::SpanRow& row) {
  const double middleNs =
      model.toNs(row.startTicks) + static_cast<double>(row.durationTicks) * model.nsPerTick() / 2;
  // By the middle, which no rounding of ticks to ns puts into a neighbour.
  return spanInLane(
      model, laneId(rank, laneRoleOf(row.kind)), middleNs,
      [&](const Span& span) { return span.id == row.id; }, 2 * model.nsPerTick());
}

std::optional<Span> collectiveAt(const RunModel& model, int rank, double ns) {
  // The collective itself, or what of it goes on at that time: its link, or the check before it.
  for (const EventKind kind : {EventKind::kCollective, EventKind::kShaped, EventKind::kChecked}) {
    if (const auto span = spanInLane(model, laneId(rank, LaneRole::kCommunication), ns,
                                 [&](const Span& of) { return of.kind == kind; })) {
      return span;
    }
  }
  return std::nullopt;
}

void showIteration(const RunModel& model, ViewState& state, int rank, std::uint32_t number,
                   std::optional<double> ns) {
  if (const auto step = model.stepOfAll(number)) {
    state.setRange(TimeRange{step->startNs, step->endNs}.widened(kMargin));
  }
  auto span = ns ? collectiveAt(model, rank, *ns) : std::nullopt;
  if (!span) {
    span = stepSpan(model, rank, number);
  }
  if (span) {
    state.select(span);
  }
}

}  // namespace lockstep::ui

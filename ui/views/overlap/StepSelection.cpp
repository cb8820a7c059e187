#include "ui/views/overlap/StepSelection.h"

#include <array>

#include "engine/trace/Event.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr double kMargin = 0.04;  // of the iteration, at either side

template <typename Fits>
std::optional<Span> spanAt(const RunModel& model, int lane, double ns, const Fits& fits) {
  const Lane* in = model.lane(lane);
  // In any row of the lane: which one a span stands in depends on what it overlaps.
  for (int row = 0; in != nullptr && row < static_cast<int>(in->rows.size()); ++row) {
    const auto span = model.findSpan(lane, row, ns);
    if (span && fits(*span)) {
      return span;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Span> stepSpan(const RunModel& model, int rank, std::uint32_t number) {
  const auto step = model.step(rank, number);
  if (!step) {
    return std::nullopt;
  }
  // In the middle, where no other step can begin.
  return spanAt(
      model, laneId(rank, LaneRole::kPhases), (step->startNs + step->endNs) / 2,
      [&](const Span& span) { return span.kind == EventKind::kStep && span.step == number; });
}

std::optional<Span> collectiveAt(const RunModel& model, int rank, double ns) {
  // The collective itself, or what of it goes on at that time: its link, or the check before it.
  for (const EventKind kind : {EventKind::kCollective, EventKind::kShaped, EventKind::kChecked}) {
    if (const auto span = spanAt(model, laneId(rank, LaneRole::kCommunication), ns,
                                 [&](const Span& of) { return of.kind == kind; })) {
      return span;
    }
  }
  return std::nullopt;
}

void showIteration(const RunModel& model, ViewState& state, int rank, std::uint32_t number,
                   std::optional<double> ns) {
  if (const auto step = model.stepOfAll(number)) {
    // A margin, so that the ends can be seen as ends.
    const double margin = kMargin * (step->endNs - step->startNs);
    state.setRange({step->startNs - margin, step->endNs + margin});
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

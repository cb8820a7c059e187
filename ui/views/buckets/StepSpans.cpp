#include "ui/views/buckets/StepSpans.h"

#include <algorithm>
#include <array>

#include "engine/trace/Event.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr std::array kRoles{LaneRole::kGradients, LaneRole::kCommunication};
// All lanes: a hook's or a phase's spans lie between gradient and launch.
constexpr std::array kRolesRead{LaneRole::kPhases, LaneRole::kGradients, LaneRole::kHook,
                                LaneRole::kCommunication};

// From the start of an iteration on a rank to the end of the next; as far as they are known.
// What an iteration launched may end during the next, whose end bounds the search; where a rank
// lost events, its neighbours or the other ranks say where to look.
TimeRange windowOf(const RunModel& model, int rank, std::uint32_t step) {
  TimeRange window = model.extent();
  const auto before = step > 0 ? model.step(rank, step - 1) : std::nullopt;
  if (const auto own = model.step(rank, step)) {
    window.startNs = own->startNs;
  } else if (before) {
    window.startNs = before->endNs;
  } else if (const auto all = model.stepOfAll(step)) {
    window.startNs = all->startNs;
  }
  if (const auto next = model.step(rank, step + 1)) {
    window.endNs = next->endNs;
  }
  return window;
}

// Calls `visit(row, index, record)` for the spans of a lane that belong to the iteration.
template <typename Visit>
void forEachInStep(const RunModel& model, int laneId, std::uint32_t step, TimeRange window,
                   Visit visit) {
  const Lane* lane = model.lane(laneId);
  if (lane == nullptr) {
    return;
  }
  const std::uint64_t first = model.toTicks(window.startNs);
  const std::uint64_t last = model.toTicks(window.endNs) + 1;
  for (std::size_t row = 0; row < lane->rows.size(); ++row) {
    const run::SpanStore& store = lane->rows[row];
    for (std::size_t i = store.firstEndingAfter(first);
         i < store.size() && store.startAt(i) <= last; ++i) {
      const run::SpanRecord record = store.at(i);
      if (record.step == step) {
        visit(static_cast<int>(row), i, record);
      }
    }
  }
}

}  // namespace

StepSpans spansOfStep(const RunModel& model, std::uint32_t step) {
  StepSpans found;
  found.clocks = {model.clockDoubt(), model.nsPerTick()};
  std::optional<std::uint64_t> origin;
  const auto begins = [&origin](const run::SpanRecord& record) {
    // Start-up carries the number of the first iteration and lies before it.
    if (static_cast<EventKind>(record.kind) != EventKind::kStartup) {
      origin = std::min(origin.value_or(record.startTicks), record.startTicks);
    }
  };
  for (int rank = 0; rank < model.rankCount(); ++rank) {
    const TimeRange window = windowOf(model, rank, step);
    analysis::RankSpans& spans = found.ranks.emplace_back();
    spans.rank = rank;
    for (const LaneRole role : kRolesRead) {
      forEachInStep(model, laneId(rank, role), step, window,
                    [&](int, std::size_t, const run::SpanRecord& record) {
                      begins(record);
                      spans.spans.push_back(run::rowOf(record, 0));
                    });
    }
    analysis::Interval& bounds = found.steps.emplace_back();
    // Only of an iteration that has ended are its bounds known.
    if (const auto own = model.step(rank, step)) {
      bounds = {model.toTicks(own->startNs), model.toTicks(own->endNs)};
      for (const LaneRole role : kRoles) {
        for (const GapSpan& gap : model.gaps(laneId(rank, role), {own->startNs, own->endNs})) {
          found.lostEvents += gap.lost;
        }
      }
    }
  }
  found.originTicks = origin.value_or(0);
  return found;
}

std::optional<Span> findInStep(const RunModel& model, int rank, std::uint32_t step,
                               std::int64_t spanId) {
  std::optional<Span> found;
  const TimeRange window = windowOf(model, rank, step);
  for (const LaneRole role : kRoles) {
    const int lane = laneId(rank, role);
    forEachInStep(model, lane, step, window,
                  [&](int row, std::size_t index, const run::SpanRecord& record) {
                    if (record.id == spanId) {
                      found = model.spanAt(lane, row, index);
                    }
                  });
  }
  return found;
}

}  // namespace lockstep::ui

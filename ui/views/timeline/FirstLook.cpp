#include "ui/views/timeline/FirstLook.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/run/KindFacts.h"
#include "engine/trace/Event.h"

namespace lockstep::ui {
namespace {

using trace::EventKind;

constexpr std::uint32_t kIterationsShown = 3;
constexpr std::size_t kStepsLookedAt = 4096;
// Frame beside what is shown, by its length.
constexpr double kFirstLookMargin = 0.015;
constexpr std::size_t kSpansLookedAt = 65'536;  // of a row

// The earliest fault after the warm-up, on any rank; else the earliest of all. A fault in the
// warm-up is seen less well, among iterations that are slow without one.
std::optional<Span> firstFault(const RunModel& model) {
  const std::uint32_t warmUp = model.rebuildStep().value_or(model.firstStep().value_or(0));
  std::optional<Span> first;
  const auto comesBefore = [&](const Span& a, const Span& b) {
    const bool aMeasured = a.step > warmUp;
    const bool bMeasured = b.step > warmUp;
    return aMeasured != bMeasured ? aMeasured : a.startNs < b.startNs;
  };
  for (int rank = 0; rank < model.rankCount(); ++rank) {
    const Lane* lane = model.lane(laneId(rank, LaneRole::kPhases));
    const std::size_t rows = lane == nullptr ? 0 : lane->rows.size();
    // Faults stand apart from the phases, among what else does: waits for a core, operators.
    for (std::size_t row = run::factsOf(EventKind::kFault).row; row < rows; ++row) {
      const std::size_t count = std::min(lane->rows[row].size(), kSpansLookedAt);
      for (std::size_t i = 0; i < count; ++i) {
        if (static_cast<EventKind>(lane->rows[row].at(i).kind) != EventKind::kFault) {
          continue;
        }
        const Span fault = model.spanAt(lane->id, static_cast<int>(row), i);
        first = !first || comesBefore(fault, *first) ? fault : *first;
      }
    }
  }
  return first;
}

}  // namespace

// Of all stretches of three iterations on end, the one whose length is nearest the median: a mean
// would be drawn away by a few very long ones, and the middle of the run need not be typical.
TimeRange typicalRange(const RunModel& model) {
  const std::uint32_t after = model.rebuildStep().value_or(0) + 1;
  for (int rank = 0; rank < model.rankCount(); ++rank) {
    std::vector<StepSpan> steps;
    const std::size_t count = model.stepCount(rank);
    const std::size_t from = count > kStepsLookedAt ? count - kStepsLookedAt : 0;
    for (std::size_t i = from; i < count; ++i) {
      const Span span = model.spanAt(laneId(rank, LaneRole::kPhases), 0, i);
      if (span.step >= after) {
        steps.push_back({span.step, span.startNs, span.endNs()});
      }
    }
    if (steps.size() < kIterationsShown) {
      continue;
    }
    std::vector<double> lengths;
    for (std::size_t i = 0; i + kIterationsShown <= steps.size(); ++i) {
      lengths.push_back(steps[i + kIterationsShown - 1].endNs - steps[i].startNs);
    }
    std::vector<double> sorted = lengths;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    const auto typical = std::ranges::min_element(
        lengths, {}, [&](double length) { return std::abs(length - *middle); });
    const auto i = static_cast<std::size_t>(typical - lengths.begin());
    return TimeRange{steps[i].startNs, steps[i + kIterationsShown - 1].endNs}.widened(
        kFirstLookMargin);
  }
  return model.extent().widened(kFirstLookMargin);
}

std::optional<TimeRange> faultRange(const RunModel& model) {
  const auto fault = model.holds(EventKind::kFault) ? firstFault(model) : std::nullopt;
  if (!fault) {
    return std::nullopt;
  }
  const auto stepOf = [&](std::uint32_t number) { return model.step(fault->rank(), number); };
  const auto before = fault->step > 0 ? stepOf(fault->step - 1) : std::nullopt;
  // From the iteration before to the one after, as far as they are there: how it should be, what
  // the fault did, and whether the run got over it.
  const auto during = stepOf(fault->step);  // none when the rank did not live to its end
  const auto after = stepOf(fault->step + 1);
  const auto known = before ? before : during;
  constexpr double kNothingKnownNs = 1e6;
  const double each = known ? std::max(known->endNs - known->startNs, 1.0) : kNothingKnownNs;
  const double from = known ? std::min(known->startNs, fault->startNs) : fault->startNs - each;
  const double to = after    ? after->endNs
                    : during ? std::max(during->endNs, fault->endNs())
                             : fault->endNs() + 2 * each;
  return TimeRange{from, to}.widened(kFirstLookMargin);
}

TimeRange firstLook(const RunModel& model) {
  const auto fault = faultRange(model);
  return fault ? *fault : typicalRange(model);
}

}  // namespace lockstep::ui

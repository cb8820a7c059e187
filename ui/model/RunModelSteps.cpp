#include <algorithm>
#include <ranges>

#include "ui/model/RunModel.h"

// The iterations of a run: the first row of each rank's phases.
namespace lockstep::ui {
namespace {

StepSpan stepOf(const Span& span) {
  return {span.step, span.startNs, span.endNs()};
}

}  // namespace

std::vector<StepSpan> RunModel::steps(int rank, TimeRange within) const {
  std::vector<StepSpan> found;
  const int id = laneId(rank, LaneRole::kPhases);
  if (const run::SpanStore* store = rowOf(id, 0)) {
    const std::uint64_t endTicks = toTicks(within.endNs);
    for (std::size_t i = store->firstEndingAfter(toTicks(within.startNs));
         i < store->size() && store->startAt(i) <= endTicks; ++i) {
      found.push_back(stepOf(spanAt(id, 0, i)));
    }
  }
  return found;
}

std::optional<StepSpan> RunModel::step(int rank, std::uint32_t number) const {
  const int id = laneId(rank, LaneRole::kPhases);
  const run::SpanStore* store = rowOf(id, 0);
  if (store == nullptr) {
    return std::nullopt;
  }
  const auto numberAt = [store](std::size_t index) { return store->at(index).step; };
  // Numbers grow with time.
  const auto all = std::views::iota(std::size_t{0}, store->size());
  const auto at = std::ranges::lower_bound(all, number, {}, numberAt);
  return at != all.end() && numberAt(*at) == number ? std::optional(stepOf(spanAt(id, 0, *at)))
                                                    : std::nullopt;
}

std::optional<StepSpan> RunModel::stepOfAll(std::uint32_t number) const {
  std::optional<StepSpan> all;
  for (int rank = 0; rank < rankCount(); ++rank) {
    const auto own = step(rank, number);
    if (own && all) {
      all->startNs = std::min(all->startNs, own->startNs);
      all->endNs = std::max(all->endNs, own->endNs);
    } else if (own) {
      all = own;
    }
  }
  return all;
}

std::optional<StepSpan> RunModel::stepAt(int rank, double ns) const {
  const auto span = findSpan(laneId(rank, LaneRole::kPhases), 0, ns);
  return span ? std::optional(stepOf(*span)) : std::nullopt;
}

std::optional<StepSpan> RunModel::lastStep(int rank) const {
  const std::size_t count = stepCount(rank);
  return count == 0 ? std::nullopt
                    : std::optional(stepOf(spanAt(laneId(rank, LaneRole::kPhases), 0, count - 1)));
}

std::optional<std::uint32_t> RunModel::firstStep() const {
  std::optional<std::uint32_t> first;
  for (int rank = 0; rank < rankCount(); ++rank) {
    const run::SpanStore* store = rowOf(laneId(rank, LaneRole::kPhases), 0);
    if (store != nullptr && !store->empty()) {
      first = std::min(first.value_or(store->at(0).step), store->at(0).step);
    }
  }
  return first;
}

std::size_t RunModel::stepCount(int rank) const {
  const run::SpanStore* store = rowOf(laneId(rank, LaneRole::kPhases), 0);
  return store == nullptr ? 0 : store->size();
}

}  // namespace lockstep::ui

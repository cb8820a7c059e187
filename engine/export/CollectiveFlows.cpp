#include "engine/export/CollectiveFlows.h"

#include <algorithm>

namespace lockstep::exports {
namespace {

// How many collectives of a group may wait for ranks whose records come later.
constexpr std::size_t kOpen = 8192;

}  // namespace

void CollectiveFlows::add(const trace::SpanRow& collective, const FlowPoint& point) {
  const auto call = run::callOf(collective.kind, collective.detail, collective.value);
  if (!call || !run::isOfAll(collective.detail)) {
    return;
  }
  Open& open = groups_[call->group];
  open[numbers_(*call).number].push_back(point);
  if (open.size() > kOpen) {
    giveOut(std::move(open.begin()->second));
    open.erase(open.begin());
  }
}

void CollectiveFlows::finish() {
  for (auto& [group, open] : groups_) {
    for (auto& [number, points] : open) {
      giveOut(std::move(points));
    }
    open.clear();
  }
}

void CollectiveFlows::giveOut(std::vector<FlowPoint> points) {
  if (points.size() >= 2) {
    std::stable_sort(points.begin(), points.end(),
                     [](const FlowPoint& a, const FlowPoint& b) { return a.ns < b.ns; });
    take_(points);
  }
}

}  // namespace lockstep::exports

#include "engine/export/CollectiveFlows.h"

#include <algorithm>

namespace lockstep::exports {
namespace {

// How many collectives of a group may wait for ranks whose records come later.
constexpr std::size_t kOpen = 8192;

}  // namespace

void CollectiveFlows::add(const trace::SpanRow& collective, const FlowPoint& point) {
  const trace::Operation operation = trace::operationOf(collective.detail);
  if (operation == trace::Operation::kSend || operation == trace::Operation::kRecv) {
    return;
  }
  Group& group = groups_[trace::groupOf(collective.detail)];
  group.open[group.unwrap(trace::collectiveSequence(collective.value))].push_back(point);
  // The oldest one: records of a rank come late by what its ring holds, and not by thousands of
  // collectives.
  if (group.open.size() > kOpen) {
    giveOut(std::move(group.open.begin()->second));
    group.open.erase(group.open.begin());
  }
}

void CollectiveFlows::finish() {
  for (auto& [number, group] : groups_) {
    for (auto& [sequence, points] : group.open) {
      giveOut(std::move(points));
    }
    group.open.clear();
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

#include "engine/import/TraceSteps.h"

#include <algorithm>
#include <initializer_list>

namespace lockstep::imports {
namespace {

using Ops = std::vector<const HostOp*>;

Ops byTime(const KinetoTrace& trace, std::initializer_list<HostOpKind> kinds) {
  Ops ops;
  for (const HostOp& op : trace.ops) {
    if (std::find(kinds.begin(), kinds.end(), op.kind) != kinds.end()) {
      ops.push_back(&op);
    }
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const HostOp* a, const HostOp* b) { return a->beginNs < b->beginNs; });
  return ops;
}

std::vector<TraceStep> stepsIn(const Ops& ops) {
  std::vector<TraceStep> steps;
  for (const HostOp* op : ops) {
    const bool again = !steps.empty() && steps.back().number == op->number;
    if (!again) {
      steps.push_back({op->number, op->beginNs, op->endNs});
    }
  }
  return steps;
}

std::vector<TraceStep> stepsByForwards(const Ops& forwards, std::int64_t lastNs) {
  std::vector<TraceStep> steps;
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    const std::int64_t end = i + 1 < forwards.size() ? forwards[i + 1]->beginNs : lastNs;
    steps.push_back({static_cast<std::uint32_t>(i), forwards[i]->beginNs, end});
  }
  return steps;
}

/// Moments at which what goes on ends, whatever it is.
/// A backward has no record (Note [Phases of a trace]): it is all evaluations between two of these.
std::vector<std::int64_t> cuts(const TraceSteps& steps, const Ops& forwards) {
  std::vector<std::int64_t> all;
  for (const TraceStep& step : steps.steps) {
    all.push_back(step.beginNs);
  }
  for (const Ops* ops : {&forwards, &steps.optimizers}) {
    for (const HostOp* op : *ops) {
      all.push_back(op->beginNs);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool isCut(const std::vector<std::int64_t>& cuts, std::int64_t from, std::int64_t to) {
  const auto at = std::upper_bound(cuts.begin(), cuts.end(), from);
  return at != cuts.end() && *at <= to;
}

}  // namespace

std::optional<std::uint32_t> TraceSteps::at(std::int64_t ns) const {
  const auto behind = std::partition_point(
      steps.begin(), steps.end(), [&](const TraceStep& step) { return step.beginNs <= ns; });
  return behind == steps.begin() ? std::nullopt : std::optional((behind - 1)->number);
}

TraceSteps stepsOf(const KinetoTrace& trace) {
  TraceSteps found;
  const Ops forwards = byTime(trace, {HostOpKind::kForward});
  found.steps = stepsIn(byTime(trace, {HostOpKind::kStep}));
  if (found.steps.empty()) {
    found.steps = stepsByForwards(forwards, trace.lastNs);
    found.countedByForwards = !found.steps.empty();
  }
  found.optimizers = byTime(trace, {HostOpKind::kOptimizer});
  found.data = byTime(trace, {HostOpKind::kData});
  const std::vector<std::int64_t> boundaries = cuts(found, forwards);
  std::int64_t last = 0;
  for (const HostOp* op :
       byTime(trace, {HostOpKind::kBackward, HostOpKind::kGradient, HostOpKind::kAccumulate,
                      HostOpKind::kCopyIn, HostOpKind::kCopyOut})) {
    const auto step = found.at(op->beginNs);
    if (!step) {
      continue;
    }
    const bool evaluates = op->kind == HostOpKind::kBackward || op->kind == HostOpKind::kGradient;
    if (found.backwards.empty() || isCut(boundaries, last, op->beginNs)) {
      if (!evaluates) {
        continue;  // a copy of another kind
      }
      // The first evaluation after a cut begins a backward.
      found.backwards.push_back({*step, op->beginNs, op->endNs, {}, {}, {}, {}});
    }
    TraceBackward& backward = found.backwards.back();
    backward.endNs = std::max(backward.endNs, op->endNs);
    last = op->beginNs;
    switch (op->kind) {
      case HostOpKind::kGradient:
        backward.gradients.push_back(op);
        break;
      case HostOpKind::kAccumulate:
        backward.accumulates.push_back(op);
        break;
      case HostOpKind::kCopyIn:
        backward.copiesIn.push_back(op);
        break;
      case HostOpKind::kCopyOut:
        backward.copiesOut.push_back(op);
        break;
      default:
        break;
    }
  }
  for (const HostOp* forward : forwards) {
    const auto step = found.at(forward->beginNs);
    const auto next = std::partition_point(
        found.backwards.begin(), found.backwards.end(),
        [&](const TraceBackward& backward) { return backward.beginNs < forward->endNs; });
    // The next backward is this forward's only if nothing else begins in between: a forward without
    // one, as of an evaluation, ends with itself.
    const bool followed =
        next != found.backwards.end() && !isCut(boundaries, forward->beginNs, next->beginNs);
    if (step) {
      found.forwards.push_back(
          {*step, forward->beginNs, followed ? next->beginNs : forward->endNs});
    }
  }
  return found;
}

}  // namespace lockstep::imports

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/import/KinetoTrace.h"

namespace lockstep::imports {

struct TraceStep {
  std::uint32_t number = 0;
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
};

/// One pass backward over the graph.
struct TraceBackward {
  std::uint32_t step = 0;
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
  std::vector<const HostOp*> gradients;    ///< AccumulateGrad with its hooks, in the order of time
  std::vector<const HostOp*> accumulates;  ///< within these
  std::vector<const HostOp*> copiesIn;
  std::vector<const HostOp*> copiesOut;
};

struct TraceForward {
  std::uint32_t step = 0;
  std::int64_t beginNs = 0;
  std::int64_t endNs = 0;
};

/// How the threads of a rank spent their time, by the host's clock.
struct TraceSteps {
  std::vector<TraceStep> steps;
  bool countedByForwards = false;  ///< the trace has no ProfilerStep
  std::vector<TraceForward> forwards;
  std::vector<TraceBackward> backwards;
  std::vector<const HostOp*> optimizers;
  std::vector<const HostOp*> data;

  /// The step during which a moment was, or the last one before it; none before the first.
  [[nodiscard]] std::optional<std::uint32_t> at(std::int64_t ns) const;
};

// Note [Phases of a trace]
// A step is a ProfilerStep; without one, from the begin of a forward of DistributedDataParallel to
// that of the next one. A backward has no record of its own: it lasts from the first node that the
// autograd engine evaluates to the last one, or to the last copy out of a bucket after it, as long
// as no forward, optimizer or step begins between two of them. A forward goes on to its backward:
// what computes the loss is of it, as in a run that was recorded.
TraceSteps stepsOf(const KinetoTrace& trace);

}  // namespace lockstep::imports

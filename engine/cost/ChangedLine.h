#pragma once

#include <optional>

#include "engine/base/Result.h"
#include "engine/cost/RecordedRun.h"

namespace lockstep::cost {

/// Returns what the run's backend takes by itself, where its link is modelled and goes on after it;
/// none: it was not recorded. [any-thread]
std::optional<Backend> backendOf(const RecordedRun& run);

/// Returns what carries the transfers of `run` with `change` (Note [A change to a step]), given
/// what they cost and backendOf() the run. Error: a clause that ends "this run cannot tell,
/// because ...". [any-thread]
base::Result<Line> changedLine(const RecordedRun& run, const TransferFit& fit,
                               const std::optional<Backend>& backend, const StepChange& change);

}  // namespace lockstep::cost
